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
  return turns.map(({ turn, state, input, inputParts = [], waiting }, position) => ({
    turn,
    messageId: nameUserMessage(turn),
    state,
    position,
    ...(input !== undefined && { text: input }),
    ...(inputParts.length > 0 && { files: inputParts.map(nameFile) }),
    ...(waiting && { waiting: describeWait(waiting) }),
  }));
}

/** Names a file without its contents, because the list is sent after each change. */
function nameFile(part: unknown): { readonly mediaType: string; readonly filename?: string } {
  const { type, mediaType, name } = part as {
    readonly type?: string;
    readonly mediaType?: string;
    readonly name?: string;
  };
  const known = mediaType ?? (type === 'image' ? 'image/*' : 'application/octet-stream');
  return { mediaType: known, ...(name !== undefined && { filename: name }) };
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
