import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import { checkMessageBytes } from '../../client/input.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import { idSchema } from '../../domain/ids.ts';
import { type Message, messageSchema } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { openConversationLine, writeConversationLine } from '../../wire/conversation-line.ts';
import { nameFile, readLines } from '../files.ts';
import { reportRefusal, writeJson } from '../output.ts';
import { nameAsTyped } from '../run-command.ts';
import type { CommandContext } from '../with-client.ts';

export interface ImportOptions {
  readonly agent: string;
  readonly tenant: string;
  readonly json?: boolean;
}

/** Of one append: Redis does nothing else meanwhile, and a client waits for less than a second. */
const MAX_BATCH_MESSAGES = 500;
const MAX_BATCH_CHARACTERS = 2_000_000;

/**
 * Appends each conversation of a file to the log of its id, which has to be new. The same file again changes nothing for a
 * day; a conversation that is refused leaves the others alone. @returns the exit code: 1 where one was refused
 */
export async function importFile(
  context: CommandContext,
  path: string,
  options: ImportOptions,
  command: Command,
): Promise<number> {
  const { output } = context;
  parseInput(idSchema, options.tenant, 'tenant');
  parseInput(idSchema, options.agent, 'agent');
  let exitCode = 0;
  let isConversationFile = false;
  for await (const { number, line } of readLines(path)) {
    let id = `line-${number}`;
    try {
      const opened = openConversationLine(line, number);
      isConversationFile = true;
      id = opened.id;
      parseInput(idSchema, id, 'id');
      const messages = opened.readMessages();
      if (messages.length === 0) {
        const field = 'messages';
        throw new TurnfoldError('invalid_input', `${field}: a conversation without messages is none`, { field });
      }
      checkWhole(messages);
      await appendAll(context, id, messages, options);
      if (options.json) writeJson(output, { id, messages: messages.length });
      else output.line(`${id}  ${messages.length} messages`);
    } catch (error) {
      if (isTurnfoldError(error) && error.code.startsWith('redis_')) throw error;
      // A file of another kind is wrong in every line, and is reported once.
      if (!isConversationFile) throw nameWrongFile(error, path);
      exitCode = reportRefusal(output, id, nameAsTyped(error, command), options.json);
    }
  }
  return exitCode;
}

function nameWrongFile(cause: unknown, path: string): unknown {
  if (!isTurnfoldError(cause)) return cause;
  const why = `expected one conversation a line, {"id", "messages"}; ${cause.message}`;
  return new TurnfoldError(cause.code, `${nameFile(path)}: ${why}`, { field: path, cause });
}

/**
 * Refuses what any batch would be refused for, before the first is written: a conversation is imported whole or not at all.
 * @throws invalid_input, message_too_large, orphan_result, duplicate_call; by the place in the file
 */
function checkWhole(messages: readonly Message[]): void {
  const read = messages.map((message, index) => {
    const field = `messages[${index}]`;
    checkMessageBytes(message, field);
    return parseInput(messageSchema, message, field);
  });
  adoptMessages(read, 1);
}

async function appendAll(
  { client }: CommandContext,
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

/** The head is the import's own affair: a person named a conversation. */
function nameConflict(cause: unknown, conversation: string, expectedHead: number): unknown {
  if (!isTurnfoldError(cause, 'conflict')) return cause;
  const { details = {} } = cause;
  const head = String(details['head']);
  const why =
    expectedHead === 0
      ? `${conversation} exists, with ${head} messages; give it another id in the file, or another --tenant`
      : `somebody else wrote to ${conversation} meanwhile; its first ${expectedHead} messages were imported, it has ${head}`;
  const field = 'id';
  return new TurnfoldError('conflict', `${field}: ${why}`, { field, details, cause });
}

/** By content: another text under the same conversation is another operation, and refused since the log is not new. */
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

/** Prints a conversation's whole log, archived messages included, as one line of a conversation file. */
export async function exportConversation(
  { client, output }: CommandContext,
  id: string,
  options: { readonly tenant: string },
): Promise<number> {
  const entries = await client.log({ tenant: options.tenant, conversation: id });
  output.line(writeConversationLine({ id, messages: entries.map((entry) => entry.message) }));
  return 0;
}
