import type { CallAnswer, OpenTurns } from '../../client/index.ts';
import { checkMessageBytes } from '../../client/input.ts';
import type { OpenTurnsInput } from '../../client/listings.ts';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { isAnswerKind, TURN_LIMITS, type TurnView } from '../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { type RunRequest, readTurn } from './run-input.ts';
import { findResults, nameResult, readAllResults, readResult, readUserTexts } from './run-messages.ts';

/** The turns that a run streams, one after the other. */
export interface RunTurns {
  /** The turn whose calls the run answers, with the ids of these calls. */
  readonly answered?: { readonly turn: string; readonly calls: ReadonlySet<string> };
  /** True if the run has a turn of its own, for a message of the user. */
  readonly hasOwn: boolean;
}

/** Answers to the calls of a turn. */
interface Answering {
  readonly view: TurnView;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

/** The last log entries and the first open turns among which the texts of the user are looked for. */
const LOG_TAIL = 100;

/**
 * Does what a run asks: answer the open calls of a turn, begin a turn with the new message, or both. A refused request
 * changes nothing, and a repeated one has no second effect.
 * @throws conversation_busy for a message while calls of the thread are open. conflict for a decision that does not count.
 * The errors of answer and enqueueTurn
 */
export async function takeRun(backend: Backend, request: RunRequest): Promise<RunTurns> {
  const open = await readOpenTurns(backend, request, { limit: 1 });
  const answering = await findAnswers(backend, request, open);
  const input = await readNewInput(backend, request, answering);
  if (answering === undefined) {
    if (input !== undefined) await enqueue(backend, request, input);
    return { hasOwn: true };
  }
  const { view, answers } = answering;
  const own = await readOwnTurn(backend, request);
  if (input !== undefined) {
    checkInput(backend, request, { input, view, open });
    // A turn of this name is either the one of an earlier request, or another one, which refuses the request.
    if (own !== undefined) await enqueue(backend, request, input, 'steer');
  }
  await backend.client.answer(backend.nameOf(request.threadId), view.turn, answers);
  // The message goes into the turn that was answered. So the model reads the decision and the message together.
  if (input !== undefined && own === undefined) await enqueue(backend, request, input, 'steer');
  const calls = new Set(Object.keys(answers));
  const isOther = own !== undefined && own.turn !== view.turn;
  return { answered: { turn: view.turn, calls }, hasOwn: input !== undefined || isOther };
}

/** A turn has the id of its run, so a repeated request streams the same turn from its start. */
async function enqueue(backend: Backend, { threadId, runId }: RunRequest, input: string, onBusy?: 'steer') {
  const { client, agent, tenant } = backend;
  await client.enqueueTurn({ conversation: threadId, tenant, agent, turn: runId, input, ...(onBusy && { onBusy }) });
}

async function readOpenTurns(
  { client, nameOf }: Backend,
  { threadId }: RunRequest,
  options: OpenTurnsInput,
): Promise<OpenTurns | undefined> {
  try {
    return await client.openTurns(nameOf(threadId), options);
  } catch (error) {
    if (isTurnfoldError(error, 'not_found')) return undefined;
    throw error;
  }
}

async function readOwnTurn(
  { client, nameOf }: Backend,
  { threadId, runId }: RunRequest,
): Promise<TurnView | undefined> {
  try {
    return await client.result(nameOf(threadId), runId);
  } catch (error) {
    if (isTurnfoldError(error, 'not_found')) return undefined;
    throw error;
  }
}

/** Finds the answers that a run brings, and the turn that they belong to. */
async function findAnswers(
  { client, nameOf }: Backend,
  { threadId, runId, messages, resume }: RunRequest,
  open: OpenTurns | undefined,
): Promise<Answering | undefined> {
  if (resume !== undefined) {
    const view = await client.result(nameOf(threadId), resume.turn);
    checkAllAnswered(view, resume.answers);
    return { view, answers: resume.answers };
  }
  const results = findResults(messages);
  if (results !== undefined) {
    const view = await client.result(nameOf(threadId), readTurn(results.caller, 'messages'));
    const waiting = view.waiting?.calls ?? [];
    const missing = waiting.filter(({ id, decision }) => decision === undefined && !results.calls.includes(id));
    const calls = [...results.calls, ...missing.map(({ id }) => id)];
    const answers = calls.flatMap((id) => {
      const answer = readResult(messages, id);
      const call = waiting.find((one) => one.id === id);
      return answer === undefined ? [] : [[id, call === undefined ? answer : nameResult(messages, call, answer)]];
    });
    return { view, answers: Object.fromEntries(answers) as Answering['answers'] };
  }
  const [first] = open?.turns ?? [];
  if (first?.waiting === undefined || !isAnswerKind(first.waiting.for) || first.turn === runId) return undefined;
  const answers = first.waiting.for === 'tools' ? readAllResults(messages, first.waiting.calls) : undefined;
  if (answers !== undefined) return { view: await client.result(nameOf(threadId), first.turn), answers };
  const calls = first.waiting.calls.filter(({ decision }) => decision === undefined).map(({ id }) => id);
  const why = `the turn ${first.turn} of the thread waits for answers to ${calls.join(', ')}. Answer them first`;
  throw fieldError('conversation_busy', 'threadId', why);
}

/** A resume answers every open interrupt, or none. */
function checkAllAnswered({ waiting }: TurnView, answers: Answering['answers']): void {
  if (waiting?.for !== 'approval') return;
  const missing = waiting.calls.filter(({ id, decision }) => decision === undefined && !Object.hasOwn(answers, id));
  if (missing.length === 0) return;
  const ids = missing.map(({ id }) => id).join(', ');
  throw fieldError('conflict', 'resume', `the thread also waits for answers to ${ids}. Answer all interrupts at once`);
}

/**
 * Reads the text that a run adds to the thread. A front-end sends its whole thread each time, and a message has no name that
 * the log knows. So texts that an earlier run brought are found by their content, in the log and among the open turns.
 * @returns undefined without a new text
 */
async function readNewInput(
  backend: Backend,
  request: RunRequest,
  answering: Answering | undefined,
): Promise<string | undefined> {
  const { texts, isBehindTurn } = readUserTexts(request.messages, answering?.view.turn);
  if (texts.length === 0) return undefined;
  if (answering === undefined && texts.length === 1) return texts[0];
  const logged = await readLoggedTexts(backend, request, answering && { view: answering.view, isBehindTurn });
  const open = await readOpenTurns(backend, request, { limit: LOG_TAIL, inputs: true });
  const others = (open?.turns ?? []).filter(({ turn }) => turn !== answering?.view.turn);
  const known = [...logged, ...others.flatMap(({ input }) => (input === undefined ? [] : [input]))];
  const added = texts.filter((text, index) => {
    const at = known.indexOf(text);
    if (at !== -1) known.splice(at, 1);
    // A run that answers nothing is for its last message, also if the message came before: the person asks again.
    return at === -1 || (answering === undefined && index === texts.length - 1);
  });
  return added.length === 0 ? undefined : added.join('\n\n');
}

interface AnsweredTurn {
  readonly view: TurnView;
  /** True if the input of the turn itself is not looked for. */
  readonly isBehindTurn: boolean;
}

/** Texts of the user in the log: those since the turn that is answered, else those since the last answer to another run. */
async function readLoggedTexts(
  { client, nameOf }: Backend,
  { threadId, runId }: RunRequest,
  answered: AnsweredTurn | undefined,
): Promise<string[]> {
  const name = nameOf(threadId);
  const { head } = await client.describe(name).catch((error: unknown) => {
    if (isTurnfoldError(error, 'not_found')) return { head: 0 };
    throw error;
  });
  if (head === 0) return [];
  const { inputSeq = head } = answered?.view ?? {};
  const after = answered === undefined ? Math.max(0, head - LOG_TAIL) : inputSeq - (answered.isBehindTurn ? 0 : 1);
  const log = await client.log(name, { after });
  const last = log.findLastIndex(({ message, turn }) => message.role === 'assistant' && turn !== runId);
  const since = answered === undefined ? log.slice(last + 1) : log;
  return since.flatMap(({ message }) => (message.role === 'user' ? [message.content] : []));
}

interface NewInput {
  readonly input: string;
  readonly view: TurnView;
  readonly open: OpenTurns | undefined;
}

/** Checks what would refuse the message, before the answers are stored. */
function checkInput(backend: Backend, { runId }: RunRequest, { input, view, open }: NewInput): void {
  if (runId === view.turn) {
    throw fieldError('invalid_input', 'runId', 'a run that answers and brings a message needs an id of its own');
  }
  checkMessageBytes({ role: 'user', content: input }, 'messages');
  if (view.agent !== backend.agent) {
    throw fieldError('agent_conflict', 'threadId', `the agent of the thread is ${view.agent}, not ${backend.agent}`);
  }
  const { mailbox = 0 } = open ?? {};
  if (mailbox < TURN_LIMITS.maxQueuedTurns) return;
  const why = `${mailbox} turns are queued, running or waiting. Send the message once turns have settled`;
  throw fieldError('mailbox_full', 'threadId', why);
}
