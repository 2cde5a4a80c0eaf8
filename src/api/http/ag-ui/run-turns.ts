import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import type { TurnView } from '../../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages } from '../front-end/check-messages.ts';
import { readOpenTurns, readTurn } from '../front-end/reads.ts';
import { findAnswers } from './run-answers.ts';
import { type RunRequest, readText } from './run-input.ts';
import { findShownResults } from './run-messages.ts';
import { readNewInput } from './run-texts.ts';

/** The turns that a run streams, one after the other. */
export interface RunTurns {
  /** The turn whose calls the run answers, with the ids of these calls. */
  readonly answered?: { readonly turn: string; readonly calls: ReadonlySet<string> };
  /** True if the run has a turn of its own, for a message of the user. */
  readonly hasOwn: boolean;
}

/**
 * Does what a run asks: answer the open calls of a turn, begin a turn with the new message, or both. The agent, the mailbox
 * and all fields are checked first, then answers are stored, then the message. So a refused request changes nothing. A turn
 * has the id of its run, so a repeated request finds the turn, whatever the thread has become since then.
 * @throws conversation_busy for a message while calls of the thread are open
 * @throws turn_conflict for the id of another run. The errors of checkMessages, answer and enqueueTurn
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
  // The message goes into the turn that was answered. So the model reads the decision and the message together.
  if (input !== undefined) await enqueue(backend, request, input, 'steer');
  const calls = new Set(Object.keys(answers));
  return { answered: { turn: view.turn, calls }, hasOwn: input !== undefined || isRepeated };
}

async function checkInput(backend: Backend, { threadId, runId }: RunRequest, input: string, view: TurnView) {
  if (runId === view.turn) {
    throw fieldError('invalid_input', 'runId', 'a run that answers and brings a message needs an id of its own');
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
    // The same request came twice at once, and the other one saw less of the thread.
    await checkRepeated(backend, request, own);
  }
}

/**
 * Checks that a turn with the id of the run has the message of this request. A run may bring several texts as one message. The
 * log may have got some of them in between. So only the last text is compared.
 * @throws turn_conflict
 */
async function checkRepeated(
  backend: Backend,
  { threadId, runId, messages }: RunRequest,
  own: TurnView,
): Promise<void> {
  const known = await readInput(backend, threadId, own);
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const last = messages[at] === undefined ? undefined : readText(messages[at], at);
  const hasText = known === undefined || last === undefined || known === last || known.endsWith(`\n\n${last}`);
  if (hasText && own.agent === backend.agent) return;
  throw fieldError('turn_conflict', 'runId', `${runId} was accepted before with another message. Use a new run id`);
}

/** Reads the message of a turn. Undefined for a turn that was canceled before it began. */
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
