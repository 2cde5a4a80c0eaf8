import { isAnswerKind, type Waiting } from '../../../domain/turn.ts';
import type { CallAnswer } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readOpenTurns } from '../front-end/reads.ts';
import { type ChatMessage, type ChatRequest, readAnswers, readNamedDecisions } from './chat-request.ts';

/**
 * Stores the answers to open calls that a page has sent with its messages. The turn that waits names the message, which may
 * stand before others: a person may answer one of two calls and then ask something else.
 * @throws conflict if a decision is contrary to the one that counts
 */
export async function takeDecisions(backend: Backend, request: ChatRequest): Promise<void> {
  const { client, nameOf } = backend;
  const open = await readOpenTurns(backend, request.id, { limit: 1 });
  const [first] = open?.turns ?? [];
  const answers = first?.waiting && findAnswers(request, first.turn, first.waiting);
  if (answers !== undefined) await client.answer(nameOf(request.id), first?.turn ?? '', answers);
}

/**
 * Repeats the decisions of a message whose turn no longer waits for them. A repeated decision changes nothing.
 * @throws conflict if another decision counts
 */
export async function repeatDecisions({ client, nameOf }: Backend, id: string, message: ChatMessage): Promise<void> {
  const { waiting } = await client.result(nameOf(id), message.id);
  const decided = Object.entries(readNamedDecisions(message));
  const gone = decided.filter(([call]) => waiting?.calls.some((one) => one.id === call) !== true);
  if (gone.length > 0) await client.answer(nameOf(id), message.id, Object.fromEntries(gone));
}

/**
 * Answers a wait that begins after the request, if the page has sent every answer. A page may send the results of calls together
 * with the approval of others, for which the turn waits first.
 */
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
  const answers = readAnswers(message, kind, calls);
  return Object.keys(answers).length === 0 ? undefined : answers;
}
