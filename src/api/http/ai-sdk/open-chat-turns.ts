import { isAnswerKind, type Waiting } from '../../../domain/turn.ts';
import type { OpenTurns } from '../../client/index.ts';
import { nameWaitingCall, readJsonOrText } from '../front-end/call-names.ts';
import { splitTurnName } from './turn-names.ts';

/** Id of the user's message of a turn. A turn of another program has one, too. */
export function nameUserMessage(turn: string): string {
  return splitTurnName(turn)?.message ?? `${turn}.input`;
}

/** Describes the open turns of a chat for pages: the queue, and the calls that wait for answers. */
export function describeOpenTurns({ turns }: Pick<OpenTurns, 'turns'>) {
  return turns.map(({ turn, state, input, waiting }, position) => ({
    turn,
    messageId: nameUserMessage(turn),
    state,
    position,
    ...(input !== undefined && { text: input }),
    ...(waiting && { waiting: describeWait(waiting) }),
  }));
}

export function describeWait({ for: kind, until, calls }: Waiting) {
  return { for: kind, until, calls: isAnswerKind(kind) ? calls.map((call) => describeCall(call, kind)) : [] };
}

function describeCall(call: Waiting['calls'][number], kind: Waiting['for']) {
  const { id: toolCallId, name: toolName, arguments: written, input = written, isShownOnly, decision } = call;
  return {
    toolCallId,
    toolName,
    input: isShownOnly === true ? input : readJsonOrText(input),
    ...(kind === 'approval' && { approvalId: nameWaitingCall(call) }),
    ...(decision && { decision }),
  };
}
