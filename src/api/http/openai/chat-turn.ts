import { randomUUID } from 'node:crypto';
import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { parseInput } from '../../../domain/parse.ts';
import { enqueueSchema } from '../../contract/enqueue-input.ts';
import type { Backend } from '../front-end/backend.ts';
import { answerAsker, enqueueFields } from '../responses/answered-calls.ts';
import { readContent, readMessages } from '../responses/create-request.ts';
import { checkInput } from '../responses/create-turn.ts';
import type { ResponseName } from '../responses/response-names.ts';
import { type ComparedMessage, compareItems, hashMessages } from './chat-history.ts';
import type { CompletionRequest } from './chat-request.ts';
import { type FoundChat, findChat, nameChat } from './find-chat.ts';
import { checkModel } from './models.ts';

/** Another request may take the same conversation at the same moment. */
const MAX_TRIES = 5;

/** Answers the calls of a waiting turn, or begins a turn in the conversation that says what the chat says. */
export async function createChatTurn(backend: Backend, request: CompletionRequest): Promise<ResponseName> {
  const asked = await answerAsker(backend, request, request.items);
  if (asked !== undefined) return asked;
  const { history: items, input } = readContent(request.items, false);
  if (input === undefined) throw fieldError('invalid_input', 'messages', 'expected a user message at the end');
  checkInput(input);
  const agent = request.agent ?? backend.agent;
  await checkModel(backend, agent);
  const history = compareItems(items);
  const last = request.items.slice(items.length);
  const chat = compareItems([...items, ...(last.length > 0 ? last : [asItem(input.input)])]);
  const { scope, isRepeat: takesAsked, key } = request;
  const turn = key ?? `t_${hashMessages(chat, scope)}`;
  const fields = { ...enqueueFields(backend, request), agent, turn, ...input };
  // Refuses invalid fields of the turn before anything is stored.
  parseInput(enqueueSchema, { ...fields, conversation: nameChat('new') });
  for (let tried = 1; ; tried += 1) {
    const found = (await findChat(backend, { agent, history, chat, scope }, { turn, takesAsked })) ?? beginApart();
    const { conversation, isAsked } = found;
    if (isAsked) return { conversation, turn };
    try {
      await addMissing(backend, { found, request, agent, turn, history });
      await backend.client.enqueueTurn({ ...fields, conversation });
      return { conversation, turn };
    } catch (error) {
      const isTaken = isTurnfoldError(error, 'conversation_busy') || isTurnfoldError(error, 'conflict');
      if (!isTaken || tried === MAX_TRIES) throw error;
    }
  }
}

function asItem(content: string): CompletionRequest['items'][number] {
  return { item: { type: 'message', role: 'user', content }, at: 'messages' };
}

function beginApart(): FoundChat {
  return { conversation: nameChat(randomUUID()), known: 0, head: 0, isAsked: false };
}

interface Missing {
  readonly found: FoundChat;
  readonly request: CompletionRequest;
  readonly agent: string;
  readonly turn: string;
  readonly history: readonly ComparedMessage[];
}

/** Appends the messages of the history that the log of the conversation lacks. */
async function addMissing(backend: Backend, { found, request, agent, turn, history }: Missing): Promise<void> {
  const missing = history[found.known];
  if (missing === undefined) return;
  const messages = readMessages(readContent(request.items, false).history.slice(missing.from));
  const { client, tenant } = backend;
  const { conversation, head: expectedHead } = found;
  await client.append({ conversation, tenant, agent, messages, expectedHead, operation: `history.${turn}` });
}
