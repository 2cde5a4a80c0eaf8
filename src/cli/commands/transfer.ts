import { createHash } from 'node:crypto';
import { checkMessageBytes } from '../../client/input.ts';
import { fieldError, isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import { idSchema } from '../../domain/ids.ts';
import { type Message, messageSchema } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { writeConversationLine } from '../../wire/conversation-line.ts';
import { eachConversation } from '../conversation-file.ts';
import { nameFile } from '../files.ts';
import { writeResult } from '../output.ts';
import type { ClientContext, WordingContext } from '../run-command.ts';

export interface ImportOptions {
  readonly agent: string;
  readonly tenant: string;
  readonly json?: boolean;
}

/**
 * Limits of one append of an import. Redis serves no other client while it runs an append, which takes less than a
 * second.
 */
const MAX_BATCH_MESSAGES = 500;
const MAX_BATCH_CHARACTERS = 2_000_000;

/**
 * Creates each conversation of a file. Repeating the import within a day changes nothing. An invalid conversation does
 * not affect the others.
 * @returns the exit code: 1 if a conversation was not imported
 */
export async function importFile(
  context: ClientContext & WordingContext,
  path: string,
  options: ImportOptions,
): Promise<number> {
  const { output, wordError } = context;
  const { json } = options;
  parseInput(idSchema, options.tenant, 'tenant');
  parseInput(idSchema, options.agent, 'agent');
  let isConversationFile = false;
  const onRefusal = (error: unknown): unknown => {
    if (isTurnfoldError(error) && error.code.startsWith('redis_')) throw error;
    // If the file has another format, every line is wrong, so the error is reported only once.
    if (!isConversationFile) throw nameWrongFile(error, path);
    return wordError(error);
  };
  return await eachConversation({ path, output, json, onRefusal }, async ({ id, readMessages }) => {
    isConversationFile = true;
    parseInput(idSchema, id, 'id');
    const messages = readMessages();
    checkWhole(messages);
    await appendAll(context, id, messages, options);
    writeResult(output, json, { id, messages: messages.length }, `${id}  ${messages.length} messages`);
  });
}

function nameWrongFile(cause: unknown, path: string): unknown {
  if (!isTurnfoldError(cause)) return cause;
  const why = `expected one conversation per line, {"id", "messages"}: ${cause.message}`;
  return new TurnfoldError(cause.code, `${nameFile(path)}: ${why}`, { field: path, cause });
}

/**
 * Checks all messages of a conversation before the first write, so that the import is complete or writes nothing.
 * @throws invalid_input for a wrong message. message_too_large above 1 MiB.
 * @throws orphan_result or duplicate_call for tool results without a call, or repeated ids
 */
function checkWhole(messages: readonly Message[]): void {
  if (messages.length === 0) {
    const why = 'the conversation has no messages. Remove its line or add a message.';
    throw fieldError('invalid_input', 'messages', why);
  }
  const read = messages.map((message, index) => {
    const field = `messages[${index}]`;
    checkMessageBytes(message, field);
    return parseInput(messageSchema, message, field);
  });
  adoptMessages(read, 1);
}

async function appendAll(
  { client }: ClientContext,
  conversation: string,
  messages: readonly Message[],
  { tenant, agent }: ImportOptions,
): Promise<void> {
  let expectedHead = 0;
  for (const batch of splitBatches(messages)) {
    const operation = nameOperation(expectedHead, batch);
    await client
      .append({ conversation, tenant, agent, messages: batch, expectedHead, operation })
      .catch((error: unknown) => {
        throw nameConflict(error, conversation, expectedHead);
      });
    expectedHead += batch.length;
  }
}

/** Explains a conflict in terms of the import, because the person did not set the expected length of the log. */
function nameConflict(cause: unknown, conversation: string, expectedHead: number): unknown {
  if (!isTurnfoldError(cause, 'conflict')) return cause;
  const { details = {} } = cause;
  const head = String(details['head']);
  const why =
    expectedHead === 0
      ? `${conversation} exists already with ${head} messages. Use another id in the file or another --tenant.`
      : `another writer appended to ${conversation} during the import. ${expectedHead} of its ${head} messages were imported.`;
  return fieldError('conflict', 'id', why, { details, cause });
}

/**
 * Derives the operation id from the messages. So a repeated import is the same operation, and an import of other
 * messages is a conflict.
 */
function nameOperation(start: number, batch: readonly Message[]): string {
  const hash = createHash('sha256').update(JSON.stringify(batch)).digest('hex').slice(0, 32);
  return `import-${start}-${hash}`;
}

function* splitBatches(messages: readonly Message[]): Generator<Message[]> {
  let batch: Message[] = [];
  let characters = 0;
  for (const message of messages) {
    const size = JSON.stringify(message).length;
    if (batch.length > 0 && (batch.length === MAX_BATCH_MESSAGES || characters + size > MAX_BATCH_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(message);
    characters += size;
  }
  if (batch.length > 0) yield batch;
}

/** Prints the whole log as one line of a conversation file, including messages that are no longer in the context. */
export async function exportConversation(
  { client, output }: ClientContext,
  id: string,
  options: { readonly tenant: string },
): Promise<number> {
  const entries = await client.log({ tenant: options.tenant, conversation: id });
  output.line(writeConversationLine({ id, messages: entries.map((entry) => entry.message) }));
  return 0;
}
