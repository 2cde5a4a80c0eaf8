import { fieldError, TurnfoldError } from '../../../domain/errors.ts';
import type { Message } from '../../../domain/message.ts';
import { parseInput } from '../../../domain/parse.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import { isSettled } from '../../../domain/turn.ts';
import type { EnqueueInput, TurnView } from '../../client/index.ts';
import { checkContents, checkMessageBytes } from '../../client/weigh-message.ts';
import { enqueueSchema } from '../../contract/enqueue-input.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages, readTurn } from '../front-end/reads.ts';
import { checkModel } from '../openai/models.ts';
import {
  type AnsweredTurn,
  answerAsker,
  answerOpenCalls,
  checkEcho,
  enqueueFields,
  findAnswered,
  storeAnswers,
} from './answered-calls.ts';
import {
  type CreateRequest,
  type RequestContent,
  readContent,
  readMessages,
  type UserInput,
} from './create-request.ts';
import { resolveReferences } from './item-references.ts';
import type { RequestItem } from './request-schema.ts';
import { type ResponseName, readItemId } from './response-names.ts';

/**
 * Does what a request asks: answer calls, begin a turn, or both.
 * @param key id of the turn. A repeated request with this id finds its turn
 */
export async function createTurn(backend: Backend, request: CreateRequest, key: string): Promise<ResponseName> {
  const continued = request.previous?.conversation ?? request.conversation;
  const items = await resolveReferences(backend, request.items, continued);
  const asked = continued === undefined ? await answerAsker(backend, request, items) : undefined;
  if (asked !== undefined) return asked;
  const content = readContent(items, continued !== undefined);
  const previous = request.previous && (await readPrevious(backend, request.previous));
  const { input } = content;
  if (input === undefined) {
    return await answerOpenCalls(backend, continued ?? '', content);
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
  // Refuses invalid fields of the turn before anything is stored.
  parseInput(enqueueSchema, turn);
  await storeAdded(backend, added, turn);
  await backend.client.enqueueTurn(turn);
  return { conversation, turn: key };
}

export function checkInput({ input, parts }: UserInput): void {
  checkMessageBytes({ role: 'user', content: input, ...(parts && { parts: [...parts] }) }, 'input');
  checkContents({ parts: [...(parts ?? [])] }, 'input');
}

/** Answers to open calls, or else messages for the log, which a request brings beside the message of its turn. */
interface Added {
  readonly answered: AnsweredTurn | undefined;
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

const PREVIOUS = 'previous_response_id';

type Previous = TurnView & { readonly conversation: string };

async function readPrevious(backend: Backend, { conversation, turn }: ResponseName): Promise<Previous> {
  const view = await readTurn(backend, conversation, turn);
  if (view !== undefined) return { ...view, conversation };
  throw fieldError('not_found', PREVIOUS, 'no response has this id, or it is no longer kept');
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
    throw new TurnfoldError('conversation_busy', why, { field: PREVIOUS });
  }
  if (inputSeq === undefined) throw fieldError('conflict', PREVIOUS, 'the response was canceled before it began');
  const log = await client.log(nameOf(conversation), { after: inputSeq - 1 });
  const head = log.findLast((entry) => entry.turn === turn)?.seq ?? inputSeq;
  const shown = omitRolledBack(log, await client.versions(nameOf(conversation)));
  if (!shown.some(({ seq }) => seq === head)) {
    throw fieldError(
      'conflict',
      PREVIOUS,
      'a rollback took the response out of its conversation. Continue another one',
    );
  }
  if (last === undefined && !shown.some(({ seq }) => seq > head)) return conversation;
  await client.fork(nameOf(conversation), nameOf(fork), { head, operation: `fork.${key}` });
  return fork;
}

function nameConversationOf(key: string): string {
  return `conv_${key}`;
}
