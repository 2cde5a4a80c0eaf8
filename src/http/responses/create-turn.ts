import { randomUUID } from 'node:crypto';
import { checkMessageBytes } from '../../client/input.ts';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import type { TurnView } from '../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { type CreateRequest, isAnswer, type PlacedItem, readMessage } from './create-request.ts';
import { continueResponse, hasTurn, nameConversationOf, readPrevious } from './previous-response.ts';
import type { ResponseName } from './response-object.ts';

/**
 * Does what a request asks: answer calls, begin a turn, or both. A refused request changes nothing.
 * @param key id of the turn
 * @throws the errors of answer, fork, append and enqueueTurn
 */
export async function createTurn(
  backend: Backend,
  request: CreateRequest,
  key: string = randomUUID(),
): Promise<ResponseName> {
  const { client, tenant, nameOf } = backend;
  const { history, input } = request;
  const previous = request.previous && (await readPrevious(backend, request.previous));
  if (input === undefined) {
    checkEcho(history);
    return await answerCalls(backend, request);
  }
  checkMessageBytes({ role: 'user', content: input }, 'input');
  const agent = request.agent ?? previous?.agent ?? backend.agent;
  if (previous !== undefined) checkAgent(agent, previous);
  const asked = previous?.conversation ?? request.conversation;
  const isKnown = asked !== undefined && (await hasTurn(backend, asked, key));
  const answered = isKnown ? undefined : await findWaitingTurn(backend, request);
  if (answered === undefined && !isKnown && request.endsWithAnswers) throw notWaiting(request);
  if (answered !== undefined) {
    checkAgent(agent, answered);
    checkEcho(history);
  }
  const messages = answered === undefined && !isKnown ? history.flatMap(readMessage) : [];
  const conversation =
    previous === undefined ? (asked ?? nameConversationOf(key)) : await continueResponse(backend, previous, key);
  if (answered !== undefined) await client.answer(nameOf(conversation), answered.turn, request.answers);
  if (messages.length > 0 && !(await hasTurn(backend, conversation, key))) {
    await client.append({ conversation, tenant, agent, messages, operation: `history.${key}` });
  }
  await client.enqueueTurn({ conversation, tenant, agent, turn: key, input });
  return { conversation, turn: key };
}

function notWaiting({ answers }: CreateRequest): TurnfoldError {
  return fieldError('conflict', 'input', `the conversation does not wait for ${Object.keys(answers).join(', ')}`);
}

function checkAgent(agent: string, turn: TurnView): void {
  if (agent === turn.agent) return;
  const why = `the previous response is by the agent ${turn.agent}. Send model ${turn.agent}, or begin a new conversation`;
  throw fieldError('agent_conflict', 'model', why);
}

/**
 * Finds the turn that waits for answers of the request. Outputs of calls that no turn waits for are a part of the history.
 * @returns undefined if no answer is for an open call
 */
async function findWaitingTurn(backend: Backend, request: CreateRequest): Promise<TurnView | undefined> {
  const calls = Object.keys(request.answers);
  const turn = calls.length === 0 ? undefined : await nameAnsweredTurn(backend, request);
  if (turn === undefined) return undefined;
  const conversation = request.previous?.conversation ?? request.conversation ?? '';
  const view = await backend.client.result(backend.nameOf(conversation), turn);
  const isOpen = view.waiting?.calls.some(({ id, decision }) => decision === undefined && calls.includes(id));
  return isOpen === true ? view : undefined;
}

/**
 * A request that answers calls may repeat the items of its agent, and those before them, which the log has. A system message
 * has no place behind open calls.
 */
function checkEcho(history: readonly PlacedItem[]): void {
  const first = history.findLastIndex(({ item }) => isOfAgent(item)) + 1;
  const other = history.slice(first).find(({ item }) => item.type === 'message' && item.role !== 'user');
  if (other === undefined) return;
  const why = 'a request that answers calls may add messages of the user only';
  throw fieldError('invalid_input', other.at, why);
}

function isOfAgent(item: PlacedItem['item']): boolean {
  return item.type === 'message' ? item.role === 'assistant' : !isAnswer(item);
}

/** The turn of the previous response, or the one that the conversation waits in. */
async function nameAnsweredTurn(
  { client, nameOf }: Backend,
  { previous, conversation = '' }: CreateRequest,
): Promise<string | undefined> {
  return previous?.turn ?? (await client.openTurns(nameOf(conversation), { limit: 1 })).turns[0]?.turn;
}

async function answerCalls(backend: Backend, request: CreateRequest): Promise<ResponseName> {
  const { client, nameOf } = backend;
  const { answers, previous } = request;
  const conversation = previous?.conversation ?? request.conversation ?? '';
  const turn = await nameAnsweredTurn(backend, request);
  const [answered = ''] = Object.keys(answers);
  if (turn === undefined) throw notWaiting(request);
  await client.answer(nameOf(conversation), turn, answers);
  return { conversation, turn, answered };
}
