import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { isAnswerKind, type TurnView } from '../../../domain/turn.ts';
import type { CallAnswer, InputPart, OpenTurns } from '../../client/index.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import type { Backend } from '../front-end/backend.ts';
import { undecided } from '../front-end/call-names.ts';
import { checkMessages, readOpenTurns, readTurn } from '../front-end/reads.ts';
import type { AgUiMessage } from './events.ts';
import { readMessageText } from './message-content.ts';
import { turnOf } from './message-names.ts';
import {
  checkReplaced,
  endOfMatch,
  findReplaced,
  type Replaced,
  readKnownTexts,
  takeOut,
  writeMessageId,
} from './replaced-turns.ts';
import { type RunRequest, readTurnName } from './run-input.ts';
import {
  findResults,
  findShownResults,
  nameResult,
  readAllResults,
  readThreadTexts,
  readToolMessage,
} from './run-messages.ts';
import { findSeed, seedThread } from './seed-thread.ts';

export interface RunTurns {
  readonly answered?: { readonly turn: string; readonly calls: ReadonlySet<string> };
  readonly hasOwn: boolean;
  /** Present if the front-end lacks turns of other front-ends. The turn of the run comes behind them. */
  readonly unseen?: Unseen;
}

interface Unseen {
  /** Last turn that the front-end shows. */
  readonly seen: string;
  /** New messages of the run. */
  readonly own: readonly AgUiMessage[];
}

/**
 * Does what a run asks: answer the open calls of a turn, begin a turn with the new message, or both. The turn of a run
 * has the run's id, so a repeated request finds it.
 * @param isNamed true if the request names the agent, so that the name may be wrong
 */
export async function takeRun(backend: Backend, request: RunRequest, isNamed = false): Promise<RunTurns> {
  const { threadId, runId, messages } = request;
  const own = await readTurn(backend, threadId, runId);
  const open = await readOpenTurns(backend, threadId, { limit: 1 });
  if (isNamed && open === undefined) await checkAgent(backend);
  const answering = await findAnswers(backend, request, { open, isRepeated: own !== undefined });
  const turn = answering?.view.turn;
  // A run without a message may have the id of the turn that it answers.
  const isRepeated = own !== undefined && turn !== runId;
  if (isRepeated) await checkRepeated(backend, request, own);
  const seed = own === undefined ? await findSeed(backend, request) : undefined;
  const input = isRepeated ? undefined : await readNewMessage(backend, request, turn);
  if (answering === undefined) {
    if (input !== undefined) await begin(backend, request, { input, seed });
    const results = isRepeated ? findShownResults(messages) : undefined;
    const isKnown = results !== undefined && (await readTurn(backend, threadId, results.turn)) !== undefined;
    const unseen = input?.unseen && { unseen: input.unseen };
    return { ...(isKnown && { answered: results }), hasOwn: true, ...unseen };
  }
  if (input !== undefined) await checkInput(backend, request, input, answering.view);
  const { answers, view } = answering;
  await backend.client.answer(backend.nameOf(threadId), view.turn, answers, { request: runId });
  // The text joins the answered turn, so that the model reads it together with the decision.
  if (input !== undefined) await enqueue(backend, request, input, 'steer');
  const calls = new Set(Object.keys(answers));
  return { answered: { turn: view.turn, calls }, hasOwn: input !== undefined || isRepeated };
}

/**
 * Without any worker, each name is taken: turns are durable, and the workers may come later.
 * @throws unknown_agent if workers run, and none has the agent
 */
async function checkAgent({ client, agent }: Backend): Promise<void> {
  const served = await client.agents();
  if (served.length === 0 || served.some((one) => one.agent === agent)) return;
  throw fieldError('unknown_agent', 'agent', `no running worker has an agent with the name ${agent}`);
}

interface Beginning {
  readonly input: NewMessage;
  readonly seed: Awaited<ReturnType<typeof findSeed>>;
}

/** Checks all that would refuse the turn, before it changes the thread. */
async function begin(backend: Backend, request: RunRequest, { input, seed }: Beginning): Promise<void> {
  const { replaced } = input;
  await checkReplaced(backend, request.threadId, { replaced, next: request.runId });
  if (seed !== undefined || replaced.length > 0) await checkNewMessage(backend, request, input);
  if (seed !== undefined) await seedThread(backend, request, seed);
  await takeOut(backend, request.threadId, { replaced, next: request.runId });
  await enqueue(backend, request, input);
}

async function checkInput(backend: Backend, request: RunRequest, input: NewMessage, view: TurnView): Promise<void> {
  if (request.runId === view.turn) {
    const why = 'the turn of this runId waits for the answers. A run that also adds a message needs a new runId';
    throw fieldError('invalid_input', 'runId', why);
  }
  await checkNewMessage(backend, request, input);
}

async function checkNewMessage(backend: Backend, { threadId }: RunRequest, { text, files }: NewMessage): Promise<void> {
  const parts = files.map((file) => ({ ...file }));
  if (parts.length > 0) checkMessageBytes({ role: 'user', content: text, parts }, 'messages');
  const fields = { field: 'threadId', textField: 'messages' };
  await checkMessages(backend, { conversation: threadId, agent: backend.agent, texts: [text], ...fields });
}

async function enqueue(backend: Backend, request: RunRequest, added: NewMessage, onBusy?: 'steer'): Promise<void> {
  const { client, agent, tenant } = backend;
  const { threadId: conversation, runId: turn, own: brought } = request;
  const { id, text: input, files } = added;
  const parts = files.length > 0 && { parts: [...files] };
  const named = { conversation, tenant, agent, turn, metadata: writeMessageId(id) };
  try {
    await client.enqueueTurn({ ...named, input, ...parts, ...brought, ...(onBusy && { onBusy }) });
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

/** Message that a run adds to its thread. */
interface NewMessage {
  readonly id: string;
  readonly text: string;
  readonly files: readonly InputPart[];
  /** Turns that the message replaces. */
  readonly replaced: Replaced;
  readonly unseen?: Unseen | undefined;
}

/**
 * Reads the message that a run adds to the thread. A front-end sends its whole thread each time, and a message has no
 * name that the log knows. So this function finds the texts of earlier runs by their content, among the open turns and
 * in the log. The search in the log begins at the last turn of which the front-end has messages.
 * @param answered turn whose calls the run answers
 * @returns undefined without a new text
 */
async function readNewMessage(
  backend: Backend,
  request: RunRequest,
  answered: string | undefined,
): Promise<NewMessage | undefined> {
  const { threadId, messages, replaces } = request;
  const seen = answered ?? findSeenTurn(messages);
  const { texts, firstNew, isBehindTurn } = readThreadTexts(messages, seen);
  const last = texts.length - 1;
  if (firstNew > last) return undefined;
  const { known, rolledBack } = await readKnownTexts(backend, threadId, { seen, isBehindTurn });
  const { replaced, misses } =
    answered === undefined
      ? await findReplaced(backend, threadId, { texts, known, rolledBack, replaces })
      : { replaced: [], misses: false };
  const kept = known.slice(0, known.length - replaced.length).map(({ text }) => text);
  const found = findKnown(
    texts.map(({ text }) => text),
    kept,
  );
  const added = texts.filter((_, index) => {
    if (index < firstNew) return false;
    // A run without answers always adds its last message, also if an earlier message has the same text.
    return !found.has(index) || (answered === undefined && index === last);
  });
  const text = added.map((one) => one.text).join('\n\n');
  const files = added.flatMap((one) => one.files);
  if (added.length === 0) return undefined;
  const ids = new Set(added.map(({ id }) => id));
  const unseen =
    seen !== undefined && misses
      ? { seen, own: messages.filter(({ id, role }) => role === 'user' && ids.has(id)) }
      : undefined;
  return { id: added.at(-1)?.id ?? '', text, files, replaced, unseen };
}

function findSeenTurn(messages: readonly AgUiMessage[]): string | undefined {
  const last = messages.findLast(({ id, role }) => role !== 'user' && turnOf(id) !== '');
  return last && turnOf(last.id);
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
