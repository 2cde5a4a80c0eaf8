import { isTurnfoldError } from '../../domain/errors.ts';
import { readConversationLine, writeConversationLine } from '../../wire/conversation-line.ts';
import type { CommandContext } from '../command-context.ts';
import { readLines } from '../files.ts';
import { writeJson } from '../output.ts';

export interface ImportOptions {
  readonly agent: string;
  readonly tenant: string;
  readonly json: boolean;
}

const BATCH = 2_000;

/**
 * Appends each conversation of a file to the log of its id, which has to be new. A conversation that is refused leaves the
 * others alone. @returns the exit code: 1 where one was refused
 */
export async function importFile(
  { client, output }: CommandContext,
  path: string,
  options: ImportOptions,
): Promise<number> {
  let exitCode = 0;
  for await (const { number, line } of readLines(path)) {
    let id = `line-${number}`;
    try {
      const conversation = readConversationLine(line, number);
      id = conversation.id;
      const { messages } = conversation;
      for (let start = 0; start < messages.length; start += BATCH) {
        await client.append({
          conversation: id,
          tenant: options.tenant,
          agent: options.agent,
          messages: messages.slice(start, start + BATCH),
          expectedHead: start,
          operation: `import-${start}`,
        });
      }
      if (options.json) writeJson(output, { id, messages: messages.length });
      else output.line(`${id}  ${messages.length} messages`);
    } catch (error) {
      if (!isTurnfoldError(error) || error.code.startsWith('redis_')) throw error;
      exitCode = 1;
      if (options.json) writeJson(output, { id, error });
      else output.line(`${id}  ${error.code}: ${error.message}`);
    }
  }
  return exitCode;
}

/** Prints a conversation's whole log, archived messages included, as one line of a conversation file. */
export async function exportConversation(
  { client, output }: CommandContext,
  id: string,
  options: { readonly tenant: string },
): Promise<number> {
  const entries = await client.log({ tenant: options.tenant, id });
  output.line(writeConversationLine({ id, messages: entries.map((entry) => entry.message) }));
  return 0;
}
