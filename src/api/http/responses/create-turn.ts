import { randomUUID } from 'node:crypto';
import { fieldError } from '../../../domain/errors.ts';
import type { TurnView } from '../../../domain/turn.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages } from '../front-end/check-messages.ts';
import { readTurn } from '../front-end/reads.ts';
import { type CreateRequest, isAnswer, type PlacedItem, readMessage } from './create-request.ts';
import { type Answered, findAnswered } from './find-answered.ts';
import { continueResponse, nameConversationOf, readPrevious } from './previous-response.ts';
import type { ResponseName } from './response-object.ts';

/**
 * Does what a request asks: answer calls, begin a turn, or both. The agent, the mailbox and all items are checked first, then
 * answers are stored, then the message. So a refused request changes nothing. With the same key, the same request again does
 * what an outage left undone.
 * @param key id of the turn
 * @throws the errors of checkMessages, answer, fork, append and enqueueTurn
 */
export async function createTurn(
  backend: Backend,
  request: CreateRequest,
  key: string = randomUUID(),
): Promise<ResponseName> {
  const { client, tenant } = backend;
  const { history, input } = request;
  const previous = request.previous && (await readPrevious(backend, request.previous));
  const asked = previous?.conversation ?? request.conversation;
  if (input === undefined) return await answerCalls(backend, request);
  checkMessageBytes({ role: 'user', content: input }, 'input');
  const agent = request.agent ?? previous?.agent ?? backend.agent;
  if (previous !== undefined) checkAgent(agent, previous);
  const isKnown = asked !== undefined && (await readTurn(backend, asked, key)) !== undefined;
  const answered = isKnown ? undefined : await findAnswered(backend, request);
  if (answered !== undefined) {
    checkAgent(agent, answered.view);
    checkEcho(history);
  }
  const messages = answered === undefined && !isKnown ? history.flatMap(readMessage) : [];
  const conversation =
    previous === undefined ? (asked ?? nameConversationOf(key)) : await continueResponse(backend, previous, key);
  if (answered !== undefined || messages.length > 0) {
    await checkMessages(backend, { conversation, agent, texts: [input], ...FIELDS });
  }
  if (answered !== undefined) await storeAnswers(backend, answered);
  if (messages.length > 0 && (await readTurn(backend, conversation, key)) === undefined) {
    await client.append({ conversation, tenant, agent, messages, operation: `history.${key}` });
  }
  await client.enqueueTurn({ conversation, tenant, agent, turn: key, input });
  return { conversation, turn: key };
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

async function answerCalls(backend: Backend, request: CreateRequest): Promise<ResponseName> {
  checkEcho(request.history);
  const answered = await findAnswered(backend, request);
  // A request without a message has answers in the end.
  if (answered === undefined) throw fieldError('conflict', 'input', 'no conversation waits for these answers');
  await storeAnswers(backend, answered);
  const { conversation, view } = answered;
  return { conversation, turn: view.turn, answered: Object.keys(answered.answers)[0] };
}
