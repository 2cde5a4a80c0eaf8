import { fieldError, type TurnfoldError } from '../domain/errors.ts';
import type { AnswerResult } from '../domain/ports/turn-answers.ts';
import { checkDurability, noTurn } from './client-errors.ts';
import { type CallAnswer, type ConversationName, readAnswers, readConversationName, readTurnId } from './input.ts';
import type { ClientPorts } from './ports.ts';

/**
 * Stores answers to the tool calls that a waiting turn waits for.
 * @returns `answered` if the turn waits for no further call, else `still_waiting`. A repeated call with the same
 * answers changes nothing and returns `answered`, also after the turn has settled.
 * @throws invalid_input, with field `answers.<call>`, if a call needs an approval and got a result, or the reverse
 * @throws conflict if the turn does not wait for a call
 * @throws not_found if the turn does not exist. message_too_large above 1 MiB.
 * @throws accepted_unsure if too few replicas or disks confirmed the write
 */
export async function answerTurn(
  ports: ClientPorts,
  name: ConversationName,
  turn: string,
  answers: Readonly<Record<string, CallAnswer>>,
): Promise<'answered' | 'still_waiting'> {
  const conversation = readConversationName(name);
  const { agent = '' } = (await ports.contexts.readConversation(conversation)) ?? {};
  const result = await ports.turns.answerTurn({
    conversation,
    turn: readTurnId(turn),
    answers: await readAnswers(await ports.counterFor(agent), answers),
    wake: ports.ids.next(),
  });
  if (result.status === 'not_waiting' || result.status === 'other_kind') throw refuseAnswer(turn, result);
  if (result.status !== 'answered' && result.status !== 'still_waiting') throw noTurn(conversation, turn);
  if ('wake' in result && result.wake !== undefined) await ports.wakes.wake('turn', conversation, result.wake);
  checkDurability(result, { field: 'turn', id: turn });
  return result.status;
}

type Refused = Extract<AnswerResult, { readonly call: string }>;

function refuseAnswer(turn: string, refused: Refused): TurnfoldError {
  const field = `answers.${refused.call}`;
  if (refused.status === 'not_waiting') {
    return fieldError(
      'conflict',
      field,
      `turn ${turn} does not wait for this call. \`result\` returns the calls that the turn waits for`,
    );
  }
  const awaited = refused.for === 'tools' ? 'its result: {content, isError?}' : 'a decision on it: {approved, why?}';
  return fieldError('invalid_input', field, `turn ${turn} waits for ${awaited}`, { details: { for: refused.for } });
}
