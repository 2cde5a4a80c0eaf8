import { TurnfoldError } from '../domain/errors.ts';
import type { ResumeResult } from '../domain/ports/brought-answers.ts';
import { type CallAnswer, type ConversationName, readAnswers, readConversationName, readTurnId } from './input.ts';
import { noTurn } from './not-found.ts';
import type { ClientPorts } from './ports.ts';
import { checkHeld } from './unsure.ts';

/**
 * Brings what a waiting turn waits for: results of tools that run elsewhere, or approvals, by call id. All of them are taken,
 * or none: with `answers.<call>` as field, one that the turn does not wait for is a conflict, one of the other kind than it waits
 * for invalid input.
 * @returns `going_on` once nothing more of these calls' wait is awaited; brought again they change nothing and say `going_on`,
 * whatever the turn waits for by then, and after its end
 * @throws invalid_input, message_too_large, not_found, accepted_unsure, conflict
 */
export async function bringAnswers(
  ports: ClientPorts,
  name: ConversationName,
  turn: string,
  answers: Readonly<Record<string, CallAnswer>>,
): Promise<'going_on' | 'still_waiting'> {
  const conversation = readConversationName(name);
  const { agent = '' } = (await ports.contexts.readConversation(conversation)) ?? {};
  const result = await ports.turns.resume({
    conversation,
    turn: readTurnId(turn),
    answers: await readAnswers(await ports.counterFor(agent), answers),
    wake: ports.ids.next(),
  });
  switch (result.status) {
    case 'fulfilled':
      if (result.wake !== undefined) await ports.wakes.wake('turn', conversation, result.wake);
      checkHeld(result, { field: 'turn', id: turn });
      return 'going_on';
    case 'partial':
      checkHeld(result, { field: 'turn', id: turn });
      return 'still_waiting';
    case 'not_waiting':
    case 'other_kind':
      throw refuseAnswer(turn, result);
    default:
      throw noTurn(conversation, turn);
  }
}

type Refused = Extract<ResumeResult, { readonly call: string }>;

function refuseAnswer(turn: string, refused: Refused): TurnfoldError {
  const field = `answers.${refused.call}`;
  if (refused.status === 'not_waiting') {
    return new TurnfoldError('conflict', `${field}: turn ${turn} does not wait for this call`, { field });
  }
  const awaited = refused.for === 'tools' ? 'its result: {content, isError?}' : 'a decision on it: {approved, why?}';
  return new TurnfoldError('invalid_input', `${field}: turn ${turn} waits for ${awaited}`, {
    field,
    details: { for: refused.for },
  });
}
