import { checkMessageBytes } from '../../client/input.ts';
import { includesScope } from '../../domain/access-key.ts';
import { isTurnfoldError } from '../../domain/errors.ts';
import { isSettled, type TurnView } from '../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { omitRolledBack } from '../front-end/rolled-back.ts';
import { HttpProblem } from '../problem.ts';
import { repeatDecisions, takeDecisions } from './chat-decisions.ts';
import { type ChatMessage, type ChatRequest, listKnown, readUserText } from './chat-request.ts';
import type { KnownParts } from './chunks.ts';

/**
 * A turn is named after the user message that it answers, with the number of the attempt. So a repeated request finds its
 * turn. The assistant message has the id of the turn, because two messages of a page may not share an id.
 */
export function nameTurn(message: string, attempt: number): string {
  return `${message}.${attempt}`;
}

/** Splits the id of a turn that a page began. Undefined for other turns. */
export function splitTurnName(turn: string): { readonly message: string; readonly attempt: number } | undefined {
  const { message, attempt } = /^(?<message>.+)\.(?<attempt>[1-9]\d{0,8})$/.exec(turn)?.groups ?? {};
  return message === undefined ? undefined : { message, attempt: Number(attempt) };
}

/** The last log entries among which a message is looked for. */
const LOG_TAIL = 500;

/** The turn that a response streams. */
export interface ChatTurn {
  readonly turn: string;
  /** Parts of the assistant message that the page has already. */
  readonly known?: KnownParts;
}

/**
 * Does what a page asks: begin a turn, answer calls, edit a message or regenerate an answer. Decisions on open calls count in
 * any message, and each user message behind the last answer is a turn. A repeated request has no second effect.
 * @throws forbidden, the errors of enqueueTurn, answer, cancel and rollBackTurn
 */
export async function takeChatRequest(backend: Backend, request: ChatRequest): Promise<ChatTurn> {
  const { id, trigger, messageId, message } = request;
  if (trigger === 'submit-message' && message.role === 'assistant') {
    await repeatDecisions(backend, id, message);
    await takeDecisions(backend, request);
    await enqueueOthers(backend, request);
    return { turn: message.id, known: listKnown(message) };
  }
  const input = readUserText(message);
  if (trigger === 'regenerate-message' || messageId === message.id) {
    await enqueueOthers(backend, request);
    const turn = await (trigger === 'regenerate-message' ? regenerate(backend, request) : edit(backend, request));
    await takeDecisions(backend, request);
    return turn;
  }
  const turn = nameTurn(message.id, 1);
  // An earlier request may have begun the turn of this message. A new turn begins behind the decisions.
  if ((await readTurn(backend, id, turn)) !== undefined) await enqueue(backend, id, turn, input);
  else checkMessageBytes({ role: 'user', content: input }, 'messages');
  await takeDecisions(backend, request);
  await enqueueOthers(backend, request);
  return await enqueue(backend, id, turn, input);
}

async function enqueue({ client, agent, tenant }: Backend, conversation: string, turn: string, input: string) {
  await client.enqueueTurn({ conversation, tenant, agent, turn, input });
  return { turn };
}

async function edit(backend: Backend, { id, message }: ChatRequest): Promise<ChatTurn> {
  const input = readUserText(message);
  const last = await findLastAttempt(backend, id, message.id);
  try {
    return await enqueue(backend, id, nameTurn(message.id, last), input);
  } catch (error) {
    if (!isTurnfoldError(error, 'turn_conflict')) throw error;
    return await replace(backend, { id, message: message.id, last, input });
  }
}

/**
 * Begins the turns of the other user messages, e.g. of one whose request was lost. A turn that is no longer kept has left its
 * message in the log.
 */
async function enqueueOthers(backend: Backend, { id, others }: ChatRequest): Promise<void> {
  const missing: ChatMessage[] = [];
  for (const other of others) {
    if ((await readTurn(backend, id, nameTurn(other.id, 1))) === undefined) missing.push(other);
  }
  if (missing.length === 0) return;
  const logged = await listLoggedMessages(backend, id);
  for (const other of missing.filter((one) => !logged.has(one.id))) {
    await enqueue(backend, id, nameTurn(other.id, 1), readUserText(other));
  }
}

/** Ids of the user messages at the end of the log. */
async function listLoggedMessages({ client, nameOf }: Backend, id: string): Promise<Set<string | undefined>> {
  try {
    const { head } = await client.describe(nameOf(id));
    const log = await client.log(nameOf(id), { after: Math.max(0, head - LOG_TAIL) });
    return new Set(log.map(({ turn }) => splitTurnName(turn ?? '')?.message));
  } catch (error) {
    if (isTurnfoldError(error, 'not_found')) return new Set();
    throw error;
  }
}

/**
 * Rolls an answer back and begins the next attempt. With the id of the message to regenerate, a repeated request finds
 * that attempt. Without the id, a request joins an attempt that is not settled yet.
 */
async function regenerate(backend: Backend, { id, messageId, message }: ChatRequest): Promise<ChatTurn> {
  // The page has removed the answer, unless the id names the user message.
  const named = messageId === undefined ? undefined : splitTurnName(messageId);
  const isAnswer = named?.message === message.id;
  const last = isAnswer ? named.attempt : await findLastAttempt(backend, id, message.id);
  const input = readUserText(message);
  const view = await readTurn(backend, id, nameTurn(message.id, last));
  if (view === undefined) return await enqueue(backend, id, nameTurn(message.id, last), input);
  if (!isAnswer && last > 1 && !isSettled(view.state)) return { turn: view.turn };
  return await replace(backend, { id, message: message.id, last, input });
}

interface Replaced {
  readonly id: string;
  readonly message: string;
  readonly last: number;
  readonly input: string;
}

/**
 * Takes the last attempt out of the context with all later turns, and begins the next attempt. Turns that are open since
 * then are canceled.
 */
async function replace(backend: Backend, { id, message, last, input }: Replaced): Promise<ChatTurn> {
  const { client, nameOf } = backend;
  const next = nameTurn(message, last + 1);
  if ((await readTurn(backend, id, next)) === undefined) {
    const replaced = nameTurn(message, last);
    const { turns } = await client.openTurns(nameOf(id), { limit: 1_000 });
    const from = turns.findIndex(({ turn }) => turn === replaced);
    const open = turns.slice(Math.max(0, from)).map(({ turn }) => turn);
    if (!includesScope(backend.scopes, 'admin')) await checkIsLast(backend, { id, message, replaced, open });
    // The last one first, so that no queued turn begins. The same request may have come twice at once.
    for (const turn of open.toReversed()) if (turn !== next) await client.cancel(nameOf(id), turn);
    await client.rollBackTurn(nameOf(id), replaced, { operation: `rollback.${next}` }).catch((error: unknown) => {
      // A turn that never began changed nothing.
      if (!isTurnfoldError(error, 'conflict') || error.field !== 'turn') throw error;
    });
  }
  return await enqueue(backend, id, next, input);
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

/** Returns 1 for a message without a turn. Attempts follow each other, so a search that doubles its steps finds the last of n with about 2 log n reads. */
export async function findLastAttempt(backend: Backend, id: string, message: string): Promise<number> {
  const exists = async (attempt: number) => (await readTurn(backend, id, nameTurn(message, attempt))) !== undefined;
  let [last, missing] = [1, 2];
  while (await exists(missing)) [last, missing] = [missing, missing * 2];
  while (missing - last > 1) {
    const middle = Math.floor((last + missing) / 2);
    if (await exists(middle)) last = middle;
    else missing = middle;
  }
  return last;
}

export async function readTurn({ client, nameOf }: Backend, id: string, turn: string): Promise<TurnView | undefined> {
  try {
    return await client.result(nameOf(id), turn);
  } catch (error) {
    if (isTurnfoldError(error, 'not_found')) return undefined;
    throw error;
  }
}
