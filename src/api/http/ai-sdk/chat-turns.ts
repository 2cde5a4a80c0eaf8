import type { Backend } from '../front-end/backend.ts';
import { checkMessages } from '../front-end/check-messages.ts';
import { readIfAny, readTurn } from '../front-end/reads.ts';
import { planEdit, planRegeneration, takeOut } from './chat-attempts.ts';
import { repeatDecisions, takeDecisions } from './chat-decisions.ts';
import { type ChatMessage, type ChatRequest, listKnown, readUserText } from './chat-request.ts';
import { beginTurn, type ChatPlan, type ChatTurn, nameTurn, splitTurnName } from './turn-names.ts';

/** The last log entries among which a message is looked for. */
const LOG_TAIL = 500;

/**
 * Does what a page asks: begin a turn, answer calls, edit a message or regenerate an answer. Decisions on open calls count in
 * any message, and each user message behind the last answer is a turn. The agent, the mailbox and all fields are checked
 * first, then decisions are stored, then messages. So a refused request changes nothing, and the same request again does what
 * an outage left undone.
 * @throws forbidden, the errors of checkMessages, enqueueTurn, answer, cancel and rollBackTurn
 */
export async function takeChatRequest(backend: Backend, request: ChatRequest): Promise<ChatTurn> {
  const { id, message } = request;
  const { turn, known, input, replaced } = await plan(backend, request);
  const others = await listMissing(backend, request);
  const texts = others.map(readUserText);
  // A turn that takes the place of another one finds room.
  if (input !== undefined && replaced === undefined) texts.push(input);
  await checkMessages(backend, { conversation: id, agent: backend.agent, texts, field: 'id', textField: 'messages' });
  if (message.role === 'assistant') await repeatDecisions(backend, id, message);
  await takeDecisions(backend, request);
  if (replaced !== undefined) await takeOut(backend, id, { ...replaced, next: turn });
  for (const other of others) await beginTurn(backend, id, nameTurn(other.id, 1), readUserText(other));
  if (input !== undefined) await beginTurn(backend, id, turn, input);
  return { turn, ...(known && { known }) };
}

async function plan(backend: Backend, request: ChatRequest): Promise<ChatPlan> {
  const { id, trigger, messageId, message } = request;
  if (trigger === 'regenerate-message') return await planRegeneration(backend, request);
  if (message.role === 'assistant') return { turn: message.id, known: listKnown(message) };
  if (messageId === message.id) return await planEdit(backend, request);
  const input = readUserText(message);
  const turn = nameTurn(message.id, 1);
  if ((await readTurn(backend, id, turn)) === undefined) return { turn, input };
  // The turn exists, so this changes nothing. It refuses another text under the id of the message.
  await beginTurn(backend, id, turn, input);
  return { turn };
}

/**
 * Lists the other user messages without a turn, e.g. one whose request was lost. A turn that is no longer kept has left its
 * message in the log.
 */
async function listMissing(backend: Backend, { id, others }: ChatRequest): Promise<ChatMessage[]> {
  const missing: ChatMessage[] = [];
  for (const other of others) {
    if ((await readTurn(backend, id, nameTurn(other.id, 1))) === undefined) missing.push(other);
  }
  if (missing.length === 0) return [];
  const logged = await listLoggedMessages(backend, id);
  return missing.filter((one) => !logged.has(one.id));
}

/** Ids of the user messages at the end of the log. */
async function listLoggedMessages({ client, nameOf }: Backend, id: string): Promise<Set<string | undefined>> {
  const { head } = (await readIfAny(client.describe(nameOf(id)))) ?? { head: 0 };
  const log = head === 0 ? [] : await client.log(nameOf(id), { after: Math.max(0, head - LOG_TAIL) });
  return new Set(log.map(({ turn }) => splitTurnName(turn ?? '')?.message));
}
