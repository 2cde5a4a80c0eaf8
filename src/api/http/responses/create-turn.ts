import { randomUUID } from 'node:crypto';
import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import type { Message } from '../../../domain/message.ts';
import type { EnqueueInput, TurnView } from '../../client/index.ts';
import { checkContents, checkMessageBytes } from '../../client/weigh-message.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages, readTurn } from '../front-end/reads.ts';
import { checkModel } from '../openai/models.ts';
import { type Answered, checkEcho, findAnswered, storeAnswers } from './answered-calls.ts';
import { continueResponse, nameConversationOf, readPrevious } from './continued-response.ts';
import {
  type CreateRequest,
  type PlacedItem,
  type RequestContent,
  readAskedInput,
  readContent,
  readLastCaller,
  readMessages,
  type UserInput,
} from './create-request.ts';
import { resolveReferences } from './item-references.ts';
import type { RequestItem } from './request-schema.ts';
import { type ResponseName, readItemId, type TurnName } from './response-names.ts';

export interface CreatedTurn extends ResponseName {
  /** True if the request began the conversation of the turn. */
  readonly isNewConversation: boolean;
}

/**
 * Does what a request asks: answer calls, begin a turn, or both.
 * @param key id of the turn. A repeated request with this id finds its turn
 */
export async function createTurn(
  backend: Backend,
  request: CreateRequest,
  key: string = randomUUID(),
): Promise<CreatedTurn> {
  const continued = request.previous?.conversation ?? request.conversation;
  const items = await resolveReferences(backend, request.items, continued);
  const asked = continued === undefined ? await answerAsker(backend, request, items) : undefined;
  if (asked !== undefined) return { ...asked, isNewConversation: false };
  const content = readContent(items, continued !== undefined);
  const previous = request.previous && (await readPrevious(backend, request.previous));
  const { input } = content;
  if (input === undefined) {
    return { ...(await answerCalls(backend, continued ?? '', content)), isNewConversation: false };
  }
  checkInput(input);
  const agent = request.agent ?? previous?.agent ?? backend.agent;
  if (previous !== undefined) checkAgent(agent, previous);
  else await checkModel(backend, agent);
  const isKnown = continued !== undefined && (await readTurn(backend, continued, key)) !== undefined;
  const added = isKnown ? NOTHING : await readAdded(backend, { content, continued, agent });
  const conversation =
    previous === undefined ? (continued ?? nameConversationOf(key)) : await continueResponse(backend, previous, key);
  const turn = { ...enqueueFields(backend, request), conversation, agent, turn: key, ...input };
  await storeAdded(backend, added, turn);
  await backend.client.enqueueTurn(turn);
  return { conversation, turn: key, isNewConversation: continued === undefined };
}

/** Fields of the turn of a request, besides its names and its message. */
export function enqueueFields(
  { tenant }: Backend,
  { own, metadata, onBusy }: CreateRequest,
): Omit<EnqueueInput, 'conversation' | 'agent' | 'input'> {
  return { tenant, ...own, ...(metadata !== undefined && { metadata }), ...(onBusy !== undefined && { onBusy }) };
}

export function checkInput({ input, parts }: UserInput): void {
  checkMessageBytes({ role: 'user', content: input, ...(parts && { parts: [...parts] }) }, 'input');
  checkContents({ parts: [...(parts ?? [])] }, 'input');
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
    return await answerCalls(backend, caller.conversation, readContent(items, true));
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
 * and the form of the answer. Clients set `tool_choice` back after a call, so it may differ.
 */
async function isSameRequest(backend: Backend, { caller, view, request, items }: AskedAgain): Promise<boolean> {
  const input = readAskedInput(items);
  if (input === undefined) return false;
  const { metadata } = view;
  const fields = enqueueFields(backend, { ...request, metadata });
  const choices = new Set([request.own.toolChoice, undefined, 'required', 'none'] as const);
  for (const toolChoice of choices) {
    const { toolChoice: _, ...turn } = { ...fields, ...caller, agent: view.agent, ...input, toolChoice };
    try {
      await backend.client.enqueueTurn({ ...turn, ...(toolChoice && { toolChoice }) });
      return true;
    } catch (error) {
      if (!isTurnfoldError(error, 'turn_conflict')) throw error;
    }
  }
  return false;
}

/** Answers to open calls, or else messages for the log, which a request brings beside the message of its turn. */
interface Added {
  readonly answered: Answered | undefined;
  readonly messages: readonly Message[];
}

const NOTHING: Added = { answered: undefined, messages: [] };

interface Asked {
  readonly content: RequestContent;
  readonly continued: string | undefined;
  readonly agent: string;
}

async function readAdded(backend: Backend, { content, continued, agent }: Asked): Promise<Added> {
  const answered = continued === undefined ? undefined : await findAnswered(backend, continued, content);
  const unknown = content.history.filter(({ item }) => !isIn(continued, item));
  if (answered === undefined) return { answered, messages: readMessages(unknown) };
  checkAgent(agent, answered.view);
  checkEcho(content.history);
  return { answered, messages: [] };
}

/** True for an item that the server sent, so the log of its conversation has it. */
function isIn(continued: string | undefined, { id, call_id: call }: RequestItem): boolean {
  const { conversation } = readItemId(id ?? call ?? '') ?? {};
  return conversation !== undefined && conversation === continued;
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

async function answerCalls(backend: Backend, continued: string, content: RequestContent): Promise<ResponseName> {
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
