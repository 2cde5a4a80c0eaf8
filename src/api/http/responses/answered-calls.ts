import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { seqOfCallId } from '../../../domain/ids.ts';
import type { TurnOwn } from '../../../domain/turn-own.ts';
import type { CallAnswer, EnqueueInput, TurnView } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny, readOpenTurns, readTurn } from '../front-end/reads.ts';
import {
  type CreateRequest,
  isAnswer,
  type PlacedItem,
  type RequestContent,
  readAskedInput,
  readContent,
  readLastCaller,
} from './create-request.ts';
import type { ResponseName, TurnName } from './response-names.ts';

/** A turn with the answers to its calls. */
export interface AnsweredTurn {
  readonly conversation: string;
  readonly view: TurnView;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

export async function storeAnswers(
  { client, nameOf }: Backend,
  { conversation, view, answers }: AnsweredTurn,
): Promise<void> {
  await client.answer(nameOf(conversation), view.turn, answers);
}

function isOfAgent({ item }: PlacedItem): boolean {
  return item.type === 'message' ? item.role === 'assistant' : !isAnswer(item);
}

/** Refuses system messages behind the agent's last item, because none can follow open calls. */
export function checkEcho(history: readonly PlacedItem[]): void {
  const first = history.findLastIndex(isOfAgent) + 1;
  const other = history.slice(first).find(({ item }) => item.type === 'message' && item.role !== 'user');
  if (other === undefined) return;
  const why = 'a request that answers calls may add messages of the user only';
  throw fieldError('invalid_input', other.at, why);
}

/**
 * Finds the turn that waits for one of the calls. If none does, an earlier request answered them, and this function finds
 * the turn that made one of the new calls. Outputs of other calls belong to the history.
 */
export async function findAnswered(
  backend: Backend,
  conversation: string,
  { answers, newCalls, endsWithAnswers }: Pick<RequestContent, 'answers' | 'newCalls' | 'endsWithAnswers'>,
): Promise<AnsweredTurn | undefined> {
  if (Object.keys(answers).length === 0) return undefined;
  const take = (view: TurnView, taken: ReadonlySet<string>): AnsweredTurn => {
    const kept = Object.fromEntries(Object.entries(answers).filter(([id]) => taken.has(id)));
    return { conversation, view, answers: kept };
  };
  const [first] = (await readOpenTurns(backend, conversation, { limit: 1 }))?.turns ?? [];
  const waiting = first?.waiting?.calls ?? [];
  const isOpen = waiting.some(({ id, decision }) => decision === undefined && Object.hasOwn(answers, id));
  const head = isOpen && first !== undefined ? await readTurn(backend, conversation, first.turn) : undefined;
  if (head !== undefined) return take(head, newCalls.union(new Set(waiting.map(({ id }) => id))));
  const [call = ''] = [...newCalls].slice(-1);
  const caller = await findCaller(backend, conversation, call);
  if (caller !== undefined) return take(caller, newCalls);
  if (!endsWithAnswers) return undefined;
  const why = `the conversation waits for no answer to these calls: ${[...newCalls].join(', ')}`;
  throw fieldError('conflict', 'input', why);
}

/** The id of a call has the position of its message in the log. */
async function findCaller(backend: Backend, conversation: string, call: string): Promise<TurnView | undefined> {
  const seq = seqOfCallId(call);
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const { client, nameOf } = backend;
  const [entry] = (await readIfAny(client.log(nameOf(conversation), { after: seq - 1, limit: 1 }))) ?? [];
  const isCaller = entry?.message.toolCalls?.some(({ id }) => id === call) === true;
  return isCaller && entry.turn !== undefined ? await readTurn(backend, conversation, entry.turn) : undefined;
}

export async function answerOpenCalls(
  backend: Backend,
  continued: string,
  content: RequestContent,
): Promise<ResponseName> {
  checkEcho(content.history);
  const answered = await findAnswered(backend, continued, content);
  if (answered === undefined) {
    const why = 'no open call matches the outputs. Send `previous_response_id` of the response that made the calls';
    throw fieldError('conflict', 'input', why);
  }
  await storeAnswers(backend, answered);
  const { conversation, view } = answered;
  return { conversation, turn: view.turn, answered: Object.keys(answered.answers)[0] };
}

/** Fields of the turn of a request, besides its names and its message. */
export function enqueueFields(
  { tenant }: Backend,
  { own, metadata, onBusy }: CreateRequest,
): Omit<EnqueueInput, 'conversation' | 'agent' | 'input'> {
  return { tenant, ...own, ...(metadata !== undefined && { metadata }), ...(onBusy !== undefined && { onBusy }) };
}

/**
 * Answers the turn that made the last calls, for a client that sends its whole history and names no response.
 * @returns undefined if that turn is over, or the request asks for something else than the turn. The history then
 * becomes a new conversation, so the model sees what the request says
 */
export async function answerAsker(
  backend: Backend,
  request: CreateRequest,
  items: readonly PlacedItem[],
): Promise<ResponseName | undefined> {
  const caller = readLastCaller(items);
  const view = caller && (await readTurn(backend, caller.conversation, caller.turn));
  if (caller === undefined || view === undefined || view.agent !== (request.agent ?? backend.agent)) return undefined;
  if (!(await isSameRequest(backend, { caller, view, request, items }))) return undefined;
  try {
    return await answerOpenCalls(backend, caller.conversation, readContent(items, true));
  } catch (error) {
    // Another answer was given before, so this history is another one.
    if (isTurnfoldError(error, 'conflict') || isTurnfoldError(error, 'invalid_input')) return undefined;
    throw error;
  }
}

interface AskedAgain {
  readonly caller: TurnName;
  readonly view: TurnView;
  readonly request: CreateRequest;
  readonly items: readonly PlacedItem[];
}

/**
 * Enqueues the turn again under its id, which changes nothing. The store then compares message, tools, instructions
 * and the form of the answer. Clients set `tool_choice` back after a call, so it may differ. If it named the called
 * tool, the turn has only this tool.
 */
async function isSameRequest(backend: Backend, { caller, view, request, items }: AskedAgain): Promise<boolean> {
  const input = readAskedInput(items);
  if (input === undefined) return false;
  const { metadata } = view;
  const fields = enqueueFields(backend, { ...request, metadata });
  const choices = new Set([request.own.toolChoice, undefined, 'required', 'none'] as const);
  const answered = items.at(-1)?.item.call_id;
  const call = items.find(({ item }) => item.type === 'function_call' && item.call_id === answered);
  const named = (request.own.tools ?? []).filter(({ name }) => name === call?.item.name);
  const tries: Pick<TurnOwn, 'tools' | 'toolChoice'>[] = [...choices].map((toolChoice) => ({ toolChoice }));
  if (named.length > 0) tries.push({ toolChoice: 'required', tools: named });
  for (const tried of tries) {
    try {
      const turn = { ...fields, ...tried, ...caller, agent: view.agent, ...input };
      await backend.client.enqueueTurn(turn);
      return true;
    } catch (error) {
      if (!isTurnfoldError(error, 'turn_conflict')) throw error;
    }
  }
  return false;
}
