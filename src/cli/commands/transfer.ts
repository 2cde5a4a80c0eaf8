import { importConversation } from '../../client/import.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
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
    await importConversation(context.client, { ...options, conversation: id, messages });
    writeResult(output, json, { id, messages: messages.length }, `${id}  ${messages.length} messages`);
  });
}

function nameWrongFile(cause: unknown, path: string): unknown {
  if (!isTurnfoldError(cause)) return cause;
  const why = `expected one conversation per line, {"id", "messages"}: ${cause.message}`;
  return new TurnfoldError(cause.code, `${nameFile(path)}: ${why}`, { field: path, cause });
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
