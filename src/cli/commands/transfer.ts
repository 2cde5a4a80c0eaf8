import { importConversation } from '../../api/client/import.ts';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { writeConversationLine } from '../../wire/histories/conversation-line.ts';
import { findWriter } from '../../wire/histories/writers/index.ts';
import { WRITTEN_FORMATS } from '../../wire/histories/writers/written-formats.ts';
import { eachConversation, type FileOptions } from '../conversation-file.ts';
import { writeResult } from '../output.ts';
import type { ClientContext, WordingContext } from '../run-command.ts';

interface ImportOptions extends FileOptions {
  readonly agent: string;
  readonly tenant: string;
}

/** Repeating the import within a day changes nothing. */
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

/** `to`: format of another program, in which the messages are one JSON document. */
export async function exportConversation(
  { client, output }: ClientContext,
  id: string,
  { tenant, to }: { readonly tenant: string; readonly to?: string },
): Promise<number> {
  const writer = to === undefined ? undefined : findWriter(to);
  if (to !== undefined && writer === undefined) {
    throw fieldError('invalid_input', '--to', `expected ${WRITTEN_FORMATS.join(', ')}`);
  }
  const entries = await client.log({ tenant, conversation: id });
  const messages = entries.map((entry) => entry.message);
  output.line(writer === undefined ? writeConversationLine({ id, messages }) : JSON.stringify(writer.write(messages)));
  return 0;
}
