import { importConversation } from '../../client/import.ts';
import { isTurnfoldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { writeConversationLine } from '../../histories/conversation-line.ts';
import { eachConversation, type FileOptions } from '../conversation-file.ts';
import { writeResult } from '../output.ts';
import type { ClientContext, WordingContext } from '../run-command.ts';

export interface ImportOptions extends FileOptions {
  readonly agent: string;
  readonly tenant: string;
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
  const { json, agent, tenant } = options;
  parseInput(idSchema, tenant, 'tenant');
  parseInput(idSchema, agent, 'agent');
  const onRefusal = (error: unknown): unknown => {
    if (isTurnfoldError(error) && error.code.startsWith('redis_')) throw error;
    return wordError(error);
  };
  return await eachConversation({ path, output, options, onRefusal }, async ({ id, messages, notes }) => {
    parseInput(idSchema, id, 'id');
    await importConversation(context.client, { agent, tenant, conversation: id, messages });
    writeResult(
      output,
      json,
      { id, messages: messages.length, ...(notes.length > 0 && { notes }) },
      `${id}  ${messages.length} messages`,
    );
  });
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
