import { randomUUID } from 'node:crypto';
import { fieldError, TurnfoldError } from '../../../domain/errors.ts';
import { seqOfCallId } from '../../../domain/ids.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import { isSettled, type TurnView } from '../../../domain/turn.ts';
import type { AppendInput, CallAnswer, EnqueueInput } from '../../client/index.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages, readIfAny, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { type CreateRequest, isAnswer, type PlacedInput, readMessage } from './create-request.ts';
import type { ResponseName } from './response-object.ts';

/**
 * Does what a request asks: answer calls, begin a turn, or both.
 * @param key id of the turn. A repeated request with this id finds its turn
 */
export async function createTurn(
  backend: Backend,
  request: CreateRequest,
  key: string = randomUUID(),
): Promise<ResponseName> {
  const previous = request.previous && (await readPrevious(backend, request.previous));
  const { input } = request;
  if (input === undefined) return await answerCalls(backend, request);
  checkMessageBytes({ role: 'user', content: input }, 'input');
  const agent = request.agent ?? previous?.agent ?? backend.agent;
  if (previous !== undefined) checkAgent(agent, previous);
  const asked = previous?.conversation ?? request.conversation;
  const isKnown = asked !== undefined && (await readTurn(backend, asked, key)) !== undefined;
  const added = isKnown ? NOTHING : await readAdded(backend, request, agent);
  const conversation =
    previous === undefined ? (asked ?? nameConversationOf(key)) : await continueResponse(backend, previous, key);
  const turn = { conversation, tenant: backend.tenant, agent, turn: key, input };
  await storeAdded(backend, added, turn);
  await backend.client.enqueueTurn(turn);
  return { conversation, turn: key };
}

/** Answers to open calls, or else messages for the log, which a request brings beside the message of its turn. */
interface Added {
  readonly answered: Answered | undefined;
  readonly messages: AppendInput['messages'];
}

const NOTHING: Added = { answered: undefined, messages: [] };

async function readAdded(backend: Backend, request: CreateRequest, agent: string): Promise<Added> {
  const answered = await findAnswered(backend, request);
  if (answered === undefined) return { answered, messages: request.history.flatMap(readMessage) };
  checkAgent(agent, answered.view);
  checkEcho(request.history);
  return { answered, messages: [] };
}

async function storeAdded(
  backend: Backend,
  { answered, messages }: Added,
  { conversation, tenant, agent, turn, input }: EnqueueInput & { readonly turn: string },
): Promise<void> {
  if (answered === undefined && messages.length === 0) return;
  await checkMessages(backend, { conversation, agent, texts: [input], ...FIELDS });
  if (answered !== undefined) return await storeAnswers(backend, answered);
  if ((await readTurn(backend, conversation, turn)) !== undefined) return;
  await backend.client.append({ conversation, tenant, agent, messages, operation: `history.${turn}` });
}

const FIELDS = { field: 'conversation', textField: 'input', agentField: 'model' } as const;

function checkAgent(agent: string, turn: TurnView): void {
  if (agent === turn.agent) return;
  const why = `the previous response is by the agent ${turn.agent}. Send model ${turn.agent}, or begin a new conversation`;
  throw fieldError('agent_conflict', 'model', why);
}

async function storeAnswers({ client, nameOf }: Backend, { conversation, view, answers }: Answered): Promise<void> {
  await client.answer(nameOf(conversation), view.turn, answers);
}

function isOfAgent({ item }: PlacedInput): boolean {
  return item.type === 'message' ? item.role === 'assistant' : !isAnswer(item);
}

/** Refuses system messages behind the agent's last item, because none can follow open calls. */
function checkEcho(history: readonly PlacedInput[]): void {
  const first = history.findLastIndex(isOfAgent) + 1;
  const other = history.slice(first).find(({ item }) => item.type === 'message' && item.role !== 'user');
  if (other === undefined) return;
  const why = 'a request that answers calls may add messages of the user only';
  throw fieldError('invalid_input', other.at, why);
}

async function answerCalls(backend: Backend, request: CreateRequest): Promise<ResponseName> {
  checkEcho(request.history);
  const answered = await findAnswered(backend, request);
  if (answered === undefined) {
    const why = 'no open call matches the outputs. Send `previous_response_id` of the response that made the calls';
    throw fieldError('conflict', 'input', why);
  }
  await storeAnswers(backend, answered);
  const { conversation, view } = answered;
  return { conversation, turn: view.turn, answered: Object.keys(answered.answers)[0] };
}

const FIELD = 'previous_response_id';

type Previous = TurnView & { readonly conversation: string };

async function readPrevious(backend: Backend, { conversation, turn }: ResponseName): Promise<Previous> {
  const view = await readTurn(backend, conversation, turn);
  if (view !== undefined) return { ...view, conversation };
  throw fieldError('not_found', FIELD, 'no response has this id, or it is no longer kept');
}

/**
 * Returns the conversation for a new turn behind a response. Behind an older response than the newest, it is a fork.
 * @param key id of the new turn, which also names the fork, so that a repeated request finds both
 */
async function continueResponse(backend: Backend, previous: Previous, key: string): Promise<string> {
  const { client, nameOf } = backend;
  const { conversation, turn, state, inputSeq } = previous;
  const fork = nameConversationOf(key);
  if ((await readTurn(backend, conversation, key)) !== undefined) return conversation;
  const { turns } = await client.openTurns(nameOf(conversation), { limit: 1_000 });
  const last = turns.at(-1);
  if (!isSettled(state)) {
    if (last?.turn === turn) return conversation;
    const why = 'the response has not ended, and others wait behind it. Continue once it has ended';
    throw new TurnfoldError('conversation_busy', why, { field: FIELD });
  }
  if (inputSeq === undefined) throw fieldError('conflict', FIELD, 'the response was canceled before it began');
  const log = await client.log(nameOf(conversation), { after: inputSeq - 1 });
  const head = log.findLast((entry) => entry.turn === turn)?.seq ?? inputSeq;
  const shown = omitRolledBack(log, await client.versions(nameOf(conversation)));
  if (!shown.some(({ seq }) => seq === head)) {
    throw fieldError('conflict', FIELD, 'a rollback took the response out of its conversation. Continue another one');
  }
  if (last === undefined && !shown.some(({ seq }) => seq > head)) return conversation;
  await client.fork(nameOf(conversation), nameOf(fork), { head, operation: `fork.${key}` });
  return fork;
}

function nameConversationOf(key: string): string {
  return `conv_${key}`;
}

interface Answered {
  readonly conversation: string;
  readonly view: TurnView;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

/**
 * Finds the turn that waits for one of the calls. If none does, an earlier request answered them, and this function finds
 * the turn that made one of the new calls. Outputs of other calls belong to the history.
 */
async function findAnswered(backend: Backend, request: CreateRequest): Promise<Answered | undefined> {
  const { answers, newCalls, endsWithAnswers } = request;
  const conversation = request.previous?.conversation ?? request.conversation;
  if (conversation === undefined || Object.keys(answers).length === 0) return undefined;
  const take = (view: TurnView, taken: ReadonlySet<string>): Answered => {
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
