import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import type { AppendInput } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny } from '../front-end/reads.ts';
import type { AgUiMessage } from './events.ts';
import { readMessageFiles, readMessageText } from './message-content.ts';
import { turnOf } from './message-names.ts';
import type { RunRequest } from './run-input.ts';
import { readMadeCalls } from './run-messages.ts';

type History = AppendInput['messages'];

/**
 * Reads the messages that a new thread begins with, for example a greeting or a conversation from another system.
 * @returns undefined if the thread exists, or its first run brings only a new message
 * @throws gone if turnfold made some of the messages, because the thread was then erased
 */
export async function findSeed(backend: Backend, { threadId, messages }: RunRequest): Promise<History | undefined> {
  const last = messages.findLastIndex(({ role }) => role !== 'user');
  const earlier = messages.slice(0, last + 1).filter(({ role }) => HISTORY_ROLES.has(role));
  if (!earlier.some(({ role }) => role === 'assistant') || messages.at(-1)?.role !== 'user') return undefined;
  if ((await readIfAny(backend.client.describe(backend.nameOf(threadId)))) !== undefined) return undefined;
  if (earlier.some(isOfTurnfold)) {
    const why = 'the thread was erased, or its time to live has ended. Begin a new thread';
    throw fieldError('gone', 'threadId', why);
  }
  return earlier.map((message) => convert(message, messages.indexOf(message)));
}

/** Appends the first messages. A copy of the request may have done so at the same time. */
export async function seedThread(
  { client, agent, tenant }: Backend,
  request: RunRequest,
  seed: History,
): Promise<void> {
  const { threadId: conversation, runId } = request;
  const operation = `seed.${runId}`;
  try {
    await client.append({ conversation, tenant, agent, messages: seed, operation, expectedHead: 0 });
  } catch (error) {
    if (!isTurnfoldError(error, 'conflict')) throw error;
  }
}

const HISTORY_ROLES: ReadonlySet<string> = new Set(['user', 'assistant', 'tool']);

function isOfTurnfold({ id, role }: AgUiMessage): boolean {
  return role === 'assistant' && idSchema.safeParse(turnOf(id)).success;
}

function convert(message: AgUiMessage, index: number): History[number] {
  const content = readMessageText(message, index);
  switch (message.role) {
    case 'assistant': {
      const toolCalls = readMadeCalls(message).map(({ id, function: made }) => ({ id, ...made }));
      return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case 'tool':
      return { role: 'tool', content, toolCallId: String(message['toolCallId']) };
    default: {
      const parts = readMessageFiles(message, index);
      return { role: 'user', content, ...(parts.length > 0 && { parts: parts.map((part) => ({ ...part })) }) };
    }
  }
}
