import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { isAnswerKind, type TurnView } from '../../../domain/turn.ts';
import type { CallAnswer, OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { undecided } from '../front-end/call-names.ts';
import { checkMessages, readLogTail, readOpenTurns, readTurn } from '../front-end/reads.ts';
import type { AgUiMessage } from './events.ts';
import { turnOf } from './message-names.ts';
import { type RunRequest, readMessageText, readTurnName } from './run-input.ts';
import {
  findResults,
  findShownResults,
  nameResult,
  readAllResults,
  readThreadTexts,
  readToolMessage,
} from './run-messages.ts';

interface RunTurns {
  readonly answered?: { readonly turn: string; readonly calls: ReadonlySet<string> };
  readonly hasOwn: boolean;
}

/**
 * Does what a run asks: answer the open calls of a turn, begin a turn with the new message, or both. The turn of a run
 * has the run's id, so a repeated request finds it.
 */
export async function takeRun(backend: Backend, request: RunRequest): Promise<RunTurns> {
  const { threadId, runId, messages } = request;
  const own = await readTurn(backend, threadId, runId);
  const open = await readOpenTurns(backend, threadId, { limit: 1 });
  const answering = await findAnswers(backend, request, { open, isRepeated: own !== undefined });
  const turn = answering?.view.turn;
  // A run without a message may have the id of the turn that it answers.
  const isRepeated = own !== undefined && turn !== runId;
  if (isRepeated) await checkRepeated(backend, request, own);
  const input = isRepeated ? undefined : await readNewInput(backend, request, turn);
  if (answering === undefined) {
    if (input !== undefined) await enqueue(backend, request, input);
    const results = isRepeated ? findShownResults(messages) : undefined;
    const isKnown = results !== undefined && (await readTurn(backend, threadId, results.turn)) !== undefined;
    return { ...(isKnown && { answered: results }), hasOwn: true };
  }
  if (input !== undefined) await checkInput(backend, request, input, answering.view);
  const { answers, view } = answering;
  await backend.client.answer(backend.nameOf(threadId), view.turn, answers, { request: runId });
  // The text joins the answered turn, so that the model reads it together with the decision.
  if (input !== undefined) await enqueue(backend, request, input, 'steer');
  const calls = new Set(Object.keys(answers));
  return { answered: { turn: view.turn, calls }, hasOwn: input !== undefined || isRepeated };
}

async function checkInput(backend: Backend, { threadId, runId }: RunRequest, input: string, view: TurnView) {
  if (runId === view.turn) {
    const why = 'the turn of this runId waits for the answers. A run that also adds a message needs a new runId';
    throw fieldError('invalid_input', 'runId', why);
  }
  const fields = { field: 'threadId', textField: 'messages' };
  await checkMessages(backend, { conversation: threadId, agent: backend.agent, texts: [input], ...fields });
}

async function enqueue(backend: Backend, request: RunRequest, input: string, onBusy?: 'steer'): Promise<void> {
  const { client, agent, tenant } = backend;
  const { threadId: conversation, runId: turn } = request;
  try {
    await client.enqueueTurn({ conversation, tenant, agent, turn, input, ...(onBusy && { onBusy }) });
  } catch (error) {
    const own = isTurnfoldError(error, 'turn_conflict') ? await readTurn(backend, conversation, turn) : undefined;
    if (own === undefined) throw error;
    // A copy of this request came at the same time, and saw an earlier state of the thread.
    await checkRepeated(backend, request, own);
  }
}

/** Refuses another message under the id of an earlier run. A turn may join several texts, so the last is compared. */
async function checkRepeated(
  backend: Backend,
  { threadId, runId, messages }: RunRequest,
  own: TurnView,
): Promise<void> {
  const known = await readInput(backend, threadId, own);
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const last = messages[at] === undefined ? undefined : readMessageText(messages[at], at);
  const hasText = known === undefined || last === undefined || known === last || known.endsWith(`\n\n${last}`);
  if (hasText && own.agent === backend.agent) return;
  throw fieldError('turn_conflict', 'runId', `${runId} was accepted before with another message. Use a new run id`);
}

async function readInput(
  backend: Backend,
  threadId: string,
  { turn, inputSeq }: TurnView,
): Promise<string | undefined> {
  const { client, nameOf } = backend;
  if (inputSeq !== undefined) {
    const [entry] = await client.log(nameOf(threadId), { after: inputSeq - 1, limit: 1 });
    return entry?.message.content;
  }
  const open = await readOpenTurns(backend, threadId, { limit: 1_000, inputs: true });
  return open?.turns.find((one) => one.turn === turn)?.input;
}

interface Answering {
  readonly view: TurnView;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

async function findAnswers(
  { client, nameOf }: Backend,
  { threadId, runId, messages, resume }: RunRequest,
  { open, isRepeated }: { readonly open: OpenTurns | undefined; readonly isRepeated: boolean },
): Promise<Answering | undefined> {
  if (resume !== undefined) {
    const view = await client.result(nameOf(threadId), resume.turn);
    checkAllAnswered(view, resume.answers);
    return { view, answers: resume.answers };
  }
  const results = findResults(messages);
  if (results !== undefined) {
    const view = await client.result(nameOf(threadId), readTurnName(results.caller, 'messages'));
    const waiting = view.waiting?.calls ?? [];
    const missing = waiting.filter(({ id, decision }) => decision === undefined && !results.calls.includes(id));
    const calls = [...results.calls, ...missing.map(({ id }) => id)];
    const answers = calls.flatMap((id) => {
      const answer = readToolMessage(messages, id);
      const call = waiting.find((one) => one.id === id);
      return answer === undefined ? [] : [[id, call === undefined ? answer : nameResult(messages, call, answer)]];
    });
    return { view, answers: Object.fromEntries(answers) as Answering['answers'] };
  }
  const [first] = open?.turns ?? [];
  if (first?.waiting === undefined || !isAnswerKind(first.waiting.for) || first.turn === runId) return undefined;
  const answers = first.waiting.for === 'tools' ? readAllResults(messages, first.waiting.calls) : undefined;
  if (answers !== undefined) return { view: await client.result(nameOf(threadId), first.turn), answers };
  // The message of a repeated run was accepted before these calls were made.
  if (isRepeated) return undefined;
  const calls = undecided(first.waiting.calls).map(({ id }) => id);
  const why = `the turn ${first.turn} of the thread waits for answers to ${calls.join(', ')}. Answer them first`;
  throw fieldError('conversation_busy', 'threadId', why);
}

/** Refuses a resume that answers only some open interrupts. A resume that answers none may be a repeated one. */
function checkAllAnswered({ waiting }: TurnView, answers: Answering['answers']): void {
  if (waiting?.for !== 'approval') return;
  const open = undecided(waiting.calls);
  const missing = open.filter(({ id }) => !Object.hasOwn(answers, id));
  if (missing.length === 0 || missing.length === open.length) return;
  const ids = missing.map(({ id }) => id).join(', ');
  throw fieldError('conflict', 'resume', `the thread also waits for answers to ${ids}. Answer all interrupts at once`);
}

const LOG_TAIL = 500;

/**
 * Reads the text that a run adds to the thread. A front-end sends its whole thread each time, and a message has no name
 * that the log knows. So this function finds the texts of earlier runs by their content, among the open turns and in
 * the log. The search in the log begins at the last turn of which the front-end has messages.
 * @param answered turn whose calls the run answers
 * @returns undefined without a new text
 */
async function readNewInput(
  backend: Backend,
  request: RunRequest,
  answered: string | undefined,
): Promise<string | undefined> {
  const { threadId, messages } = request;
  const seen = answered ?? findSeenTurn(messages);
  const { texts, firstNew, isBehindTurn } = readThreadTexts(messages, seen);
  const last = texts.length - 1;
  if (firstNew > last) return undefined;
  if (answered === undefined && firstNew === last) return texts[last];
  const known = findKnown(texts, await readKnownTexts(backend, threadId, seen, isBehindTurn));
  const added = texts.filter((_, index) => {
    if (index < firstNew) return false;
    // A run without answers is sent for its last message. If an earlier one has the same text, the person asks again.
    return !known.has(index) || (answered === undefined && index === last);
  });
  return added.length === 0 ? undefined : added.join('\n\n');
}

function findSeenTurn(messages: readonly AgUiMessage[]): string | undefined {
  const last = messages.findLast(({ id, role }) => role !== 'user' && turnOf(id) !== '');
  return last && turnOf(last.id);
}

/**
 * Reads the user's texts of earlier runs: in the log from the turn on, and in turns that no worker has claimed.
 * @param isBehindTurn true: without the input of the turn itself
 */
async function readKnownTexts(
  backend: Backend,
  threadId: string,
  seen: string | undefined,
  isBehindTurn: boolean,
): Promise<string[]> {
  // Open turns are read first, so that a turn that begins between the two reads is in the log.
  const open = await readOpenTurns(backend, threadId, { limit: LOG_TAIL, inputs: true });
  const log = await readLogTail(backend, threadId, LOG_TAIL);
  const first = seen === undefined ? 0 : log.findIndex(({ turn }) => turn === seen);
  const users = log
    .slice(Math.max(0, first))
    .filter(({ message, turn }) => message.role === 'user' && !(isBehindTurn && turn === seen));
  const logged = new Set(users.map(({ turn }) => turn));
  const queued = (open?.turns ?? []).flatMap(({ turn, input }) => {
    return input === undefined || logged.has(turn) ? [] : [input];
  });
  return [...users.map(({ message }) => message.content), ...queued];
}

/** A known message may consist of several texts in a row. @returns indexes of the texts of earlier runs */
function findKnown(texts: readonly string[], known: readonly string[]): Set<number> {
  const left = [...known];
  const found = new Set<number>();
  for (let at = 0; at < texts.length; at += 1) {
    const ends = left.map((message) => endOfMatch(texts, at, message));
    const index = ends.findIndex((end) => end !== undefined);
    const end = ends[index];
    if (end === undefined) continue;
    left.splice(index, 1);
    for (; at < end; at += 1) found.add(at);
    found.add(at);
  }
  return found;
}

function endOfMatch(texts: readonly string[], first: number, message: string): number | undefined {
  if (!message.startsWith(texts[first] ?? '')) return undefined;
  let joined = texts[first] ?? '';
  let end = first;
  while (joined.length < message.length && end + 1 < texts.length) {
    end += 1;
    joined += `\n\n${texts[end]}`;
  }
  return joined === message ? end : undefined;
}
