import { includesScope } from '../../../domain/access-key.ts';
import { isTurnfoldError } from '../../../domain/errors.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import { isAnswerKind, isSettled, type Waiting } from '../../../domain/turn.ts';
import type { CallAnswer } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages, readLogTail, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { HttpProblem } from '../problem.ts';
import {
  type ChatRequest,
  listKnown,
  type PageMessage,
  readMessageAnswers,
  readNamedDecisions,
  readUserInput,
} from './chat-request.ts';
import type { ChunkPosition } from './chunk-position.ts';
import { isInMailbox } from './open-chat-turns.ts';
import {
  beginTurn,
  type ChatInput,
  type ChatPlan,
  findLastAttempt,
  nameTurn,
  type StreamedAnswer,
  splitTurnName,
} from './turn-names.ts';
import { meetWait, type WhileWaiting } from './while-waiting.ts';

const LOG_TAIL = 500;

/** Does what a page asks: begin turns, answer calls, edit a message or regenerate an answer. */
export async function takeChatRequest(
  backend: Backend,
  request: ChatRequest,
  whileWaiting: WhileWaiting,
): Promise<StreamedAnswer> {
  const { id: conversation, message, after } = request;
  if (after !== undefined) return await resume(backend, request, after);
  const { turn, known, input, replaced } = await plan(backend, request);
  const others = await listMissing(backend, request);
  const inputs = others.map((other) => ({ turn: nameTurn(other.id, 1), input: readUserInput(other) }));
  // A turn that replaces another turn needs no further room in the mailbox.
  const added = input === undefined || replaced !== undefined ? inputs : [...inputs, { turn, input }];
  await checkInputs(backend, conversation, added);
  if (message.role === 'assistant') await repeatDecisions(backend, conversation, message);
  await takeDecisions(backend, request);
  const isSteering = added.length > 0 && (await meetWait(backend, conversation, whileWaiting)) === 'steer';
  if (replaced !== undefined) await takeOut(backend, conversation, replaced, turn);
  for (const one of inputs) await beginTurn(backend, { conversation, isSteering, ...one });
  if (input !== undefined) await beginTurn(backend, { conversation, turn, input, isSteering });
  return { turn, ...(known && { known }) };
}

/** The server has accepted the request before it sent a position. */
async function resume(backend: Backend, { id, message }: ChatRequest, after: ChunkPosition): Promise<StreamedAnswer> {
  const { turn } = after;
  await backend.client.result(backend.nameOf(id), turn);
  return { turn, after, ...(message.role === 'assistant' && { known: listKnown(message) }) };
}

async function checkInputs(
  backend: Backend,
  conversation: string,
  added: readonly { readonly input: ChatInput }[],
): Promise<void> {
  const texts = added.map(({ input: { text } }) => text);
  await checkMessages(backend, { conversation, agent: backend.agent, texts, field: 'id', textField: 'messages' });
}

async function plan(backend: Backend, request: ChatRequest): Promise<ChatPlan> {
  const { id, trigger, messageId, message } = request;
  if (trigger === 'regenerate-message') return await planRegeneration(backend, request);
  if (message.role === 'assistant') return { turn: message.id, known: listKnown(message) };
  if (messageId === message.id) return await planEdit(backend, request);
  const input = readUserInput(message);
  const turn = nameTurn(message.id, 1);
  if ((await readTurn(backend, id, turn)) === undefined) return { turn, input };
  // The turn exists. This call refuses a different text under the same message id, and otherwise changes nothing.
  await beginTurn(backend, { conversation: id, turn, input });
  return { turn };
}

/** Lists user messages whose requests were lost. If a turn is no longer kept, the log still has its message. */
async function listMissing(backend: Backend, { id, others }: ChatRequest): Promise<PageMessage[]> {
  const missing: PageMessage[] = [];
  for (const other of others) {
    if ((await readTurn(backend, id, nameTurn(other.id, 1))) === undefined) missing.push(other);
  }
  if (missing.length === 0) return [];
  const logged = await listLoggedMessages(backend, id);
  return missing.filter((one) => !logged.has(one.id));
}

async function listLoggedMessages(backend: Backend, id: string): Promise<Set<string | undefined>> {
  const log = await readLogTail(backend, id, LOG_TAIL);
  return new Set(log.map(({ turn }) => splitTurnName(turn ?? '')?.message));
}

/** An edited message begins the next attempt, unless the last attempt has the same text. */
async function planEdit(backend: Backend, { id, message }: ChatRequest): Promise<ChatPlan> {
  const input = readUserInput(message);
  const last = await findLastAttempt(backend, id, message.id);
  const turn = nameTurn(message.id, last);
  if ((await readTurn(backend, id, turn)) === undefined) return { turn, input };
  try {
    await beginTurn(backend, { conversation: id, turn, input });
    return { turn };
  } catch (error) {
    if (!isTurnfoldError(error, 'turn_conflict')) throw error;
    return await planNext(backend, { id, message: message.id, last, input });
  }
}

/** With the id of the answer, a repeated request finds the next attempt. Without it, it joins an open attempt. */
async function planRegeneration(backend: Backend, { id, messageId, message }: ChatRequest): Promise<ChatPlan> {
  // The page has removed the answer, unless the id names the user message.
  const named = messageId === undefined ? undefined : splitTurnName(messageId);
  const isAnswer = named?.message === message.id;
  const input = readUserInput(message);
  const last = isAnswer ? named.attempt : await findLastAttempt(backend, id, message.id);
  const view = await readTurn(backend, id, nameTurn(message.id, last));
  if (view === undefined) return { turn: nameTurn(message.id, last), input };
  if (!isAnswer && last > 1 && !isSettled(view.state)) return { turn: view.turn };
  return await planNext(backend, { id, message: message.id, last, input });
}

interface Attempt {
  readonly id: string;
  readonly message: string;
  readonly last: number;
  readonly input: ChatInput;
}

async function planNext(backend: Backend, { id, message, last, input }: Attempt): Promise<ChatPlan> {
  const { client, nameOf } = backend;
  const turn = nameTurn(message, last + 1);
  if ((await readTurn(backend, id, turn)) !== undefined) {
    await beginTurn(backend, { conversation: id, turn, input });
    return { turn };
  }
  const before = nameTurn(message, last);
  const all = (await client.openTurns(nameOf(id), { limit: 1_000 })).turns;
  const turns = all.filter((open) => open.turn === before || isInMailbox(open));
  const from = turns.findIndex((open) => open.turn === before);
  const replaced = { turn: before, open: turns.slice(Math.max(0, from)).map((one) => one.turn) };
  if (!includesScope(backend.scopes, 'admin')) await checkIsLast(backend, id, message, replaced);
  return { turn, input, replaced };
}

type Replaced = NonNullable<ChatPlan['replaced']>;

/** To take back a message before the last one is a rollback, which needs the scope `admin`. */
async function checkIsLast(
  { client, nameOf }: Backend,
  id: string,
  message: string,
  { turn: replaced, open }: Replaced,
): Promise<void> {
  const isOther = (turn: string | undefined): boolean => splitTurnName(turn ?? '')?.message !== message;
  const { inputSeq } = await client.result(nameOf(id), replaced);
  const newer = inputSeq === undefined ? [] : await client.log(nameOf(id), { after: inputSeq });
  const shown = omitRolledBack(newer, await client.versions(nameOf(id)));
  const isLast = !open.some(isOther) && !shown.some((entry) => entry.message.role === 'user' && isOther(entry.turn));
  if (isLast) return;
  const why = 'this key may edit or regenerate the last user message only. For an earlier one it needs the scope admin';
  throw new HttpProblem('forbidden', why, { field: 'messageId' });
}

async function takeOut({ client, nameOf }: Backend, id: string, { turn, open }: Replaced, next: string): Promise<void> {
  // Newest first, so that no queued turn begins. A copy of this request may have begun `next` already.
  for (const one of open.toReversed()) if (one !== next) await client.cancel(nameOf(id), one);
  await client.rollBackTurn(nameOf(id), turn, { operation: `rollback.${next}` }).catch((error: unknown) => {
    // The replaced turn never began, so there is nothing to roll back.
    if (!isTurnfoldError(error, 'conflict') || error.field !== 'turn') throw error;
  });
}

/** Stores answers to open calls. Any message of the page may have them. */
async function takeDecisions(backend: Backend, request: ChatRequest): Promise<void> {
  const { client, nameOf } = backend;
  const open = await readOpenTurns(backend, request.id, { limit: 1 });
  const [first] = open?.turns ?? [];
  const answers = first?.waiting && findAnswers(request, first.turn, first.waiting);
  if (answers !== undefined) await client.answer(nameOf(request.id), first?.turn ?? '', answers);
}

/** Sends decisions on calls that are no longer open, so that a contrary decision is refused. */
async function repeatDecisions({ client, nameOf }: Backend, id: string, message: PageMessage): Promise<void> {
  const { waiting } = await client.result(nameOf(id), message.id);
  const decided = Object.entries(readNamedDecisions(message));
  const gone = decided.filter(([call]) => waiting?.calls.some((one) => one.id === call) !== true);
  if (gone.length > 0) await client.answer(nameOf(id), message.id, Object.fromEntries(gone));
}

/** A page may send results with approvals, although the turn waits for the results only afterwards. */
export async function answerWait(
  { client, nameOf }: Backend,
  request: ChatRequest,
  turn: string,
  waiting: Waiting,
): Promise<boolean> {
  const answers = findAnswers(request, turn, waiting) ?? {};
  const isWhole = waiting.calls.every(({ id, decision }) => decision !== undefined || Object.hasOwn(answers, id));
  if (Object.keys(answers).length === 0 || !isWhole) return false;
  await client.answer(nameOf(request.id), turn, answers);
  return true;
}

function findAnswers(
  { findAnswer }: ChatRequest,
  turn: string,
  { for: kind, calls }: Waiting,
): Record<string, CallAnswer> | undefined {
  const message = isAnswerKind(kind) ? findAnswer(turn) : undefined;
  if (message === undefined || !isAnswerKind(kind)) return undefined;
  const answers = readMessageAnswers(message, kind, calls);
  return Object.keys(answers).length === 0 ? undefined : answers;
}
