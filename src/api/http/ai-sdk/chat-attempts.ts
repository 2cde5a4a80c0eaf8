import { includesScope } from '../../../domain/access-key.ts';
import { isTurnfoldError } from '../../../domain/errors.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import { isSettled } from '../../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { readTurn } from '../front-end/reads.ts';
import { HttpProblem } from '../problem.ts';
import { type ChatRequest, readUserText } from './chat-request.ts';
import { beginTurn, type ChatPlan, findLastAttempt, nameTurn, splitTurnName } from './turn-names.ts';

/** An edited message begins the next attempt, unless the last attempt has its text. */
export async function planEdit(backend: Backend, { id, message }: ChatRequest): Promise<ChatPlan> {
  const input = readUserText(message);
  const last = await findLastAttempt(backend, id, message.id);
  const turn = nameTurn(message.id, last);
  if ((await readTurn(backend, id, turn)) === undefined) return { turn, input };
  try {
    // The turn exists, so this changes nothing.
    await beginTurn(backend, id, turn, input);
    return { turn };
  } catch (error) {
    if (!isTurnfoldError(error, 'turn_conflict')) throw error;
    return await planNext(backend, { id, message: message.id, last, input });
  }
}

/**
 * The next attempt takes the place of the last one. With the id of the message to regenerate, a repeated request finds that
 * attempt. Without the id, a request joins an attempt that is not settled yet.
 */
export async function planRegeneration(backend: Backend, { id, messageId, message }: ChatRequest): Promise<ChatPlan> {
  // The page has removed the answer, unless the id names the user message.
  const named = messageId === undefined ? undefined : splitTurnName(messageId);
  const isAnswer = named?.message === message.id;
  const input = readUserText(message);
  const last = isAnswer ? named.attempt : await findLastAttempt(backend, id, message.id);
  const view = await readTurn(backend, id, nameTurn(message.id, last));
  if (view === undefined) return { turn: nameTurn(message.id, last), input };
  if (!isAnswer && last > 1 && !isSettled(view.state)) return { turn: view.turn };
  return await planNext(backend, { id, message: message.id, last, input });
}

interface Replaced {
  readonly id: string;
  readonly message: string;
  readonly last: number;
  readonly input: string;
}

/** @throws forbidden if the key may not take the last attempt out of the context */
async function planNext(backend: Backend, { id, message, last, input }: Replaced): Promise<ChatPlan> {
  const { client, nameOf } = backend;
  const turn = nameTurn(message, last + 1);
  if ((await readTurn(backend, id, turn)) !== undefined) {
    await beginTurn(backend, id, turn, input);
    return { turn };
  }
  const replaced = nameTurn(message, last);
  const { turns } = await client.openTurns(nameOf(id), { limit: 1_000 });
  const from = turns.findIndex((open) => open.turn === replaced);
  const open = turns.slice(Math.max(0, from)).map((one) => one.turn);
  if (!includesScope(backend.scopes, 'admin')) await checkIsLast(backend, { id, message, replaced, open });
  return { turn, input, replaced: { turn: replaced, open } };
}

interface LastMessage {
  readonly id: string;
  readonly message: string;
  readonly replaced: string;
  /** Open turns, from the replaced one on. */
  readonly open: readonly string[];
}

/**
 * Checks that only attempts of the message itself leave the context. To take back a person's own last message is an
 * ordinary act of a chat. Anything more is a rollback.
 * @throws forbidden
 */
async function checkIsLast({ client, nameOf }: Backend, { id, message, replaced, open }: LastMessage): Promise<void> {
  const isOther = (turn: string | undefined): boolean => splitTurnName(turn ?? '')?.message !== message;
  const { inputSeq } = await client.result(nameOf(id), replaced);
  const newer = inputSeq === undefined ? [] : await client.log(nameOf(id), { after: inputSeq });
  const shown = omitRolledBack(newer, await client.versions(nameOf(id)));
  const isLast = !open.some(isOther) && !shown.some((entry) => entry.message.role === 'user' && isOther(entry.turn));
  if (isLast) return;
  const why = 'this key may edit or regenerate the last user message only. For an earlier one it needs the scope admin';
  throw new HttpProblem('forbidden', why, { field: 'messageId' });
}

interface TakenOut {
  readonly turn: string;
  readonly open: readonly string[];
  /** Turn that takes the place. */
  readonly next: string;
}

/** Takes an attempt out of the context with all later turns. Turns that are open since then are canceled. */
export async function takeOut({ client, nameOf }: Backend, id: string, { turn, open, next }: TakenOut): Promise<void> {
  // The last one first, so that no queued turn begins. The same request may have come twice at once.
  for (const one of open.toReversed()) if (one !== next) await client.cancel(nameOf(id), one);
  await client.rollBackTurn(nameOf(id), turn, { operation: `rollback.${next}` }).catch((error: unknown) => {
    // A turn that never began changed nothing.
    if (!isTurnfoldError(error, 'conflict') || error.field !== 'turn') throw error;
  });
}
