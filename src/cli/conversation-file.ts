import { type OpenedLine, openConversationLine } from '../wire/conversation-line.ts';
import { readLines } from './files.ts';
import { type Output, reportRefusal } from './output.ts';

export interface ConversationFile {
  readonly path: string;
  readonly output: Output;
  readonly json?: boolean | undefined;
  /** Receives the error of a conversation. Returns the error to print, or throws to end the command. */
  readonly onRefusal?: (error: unknown) => unknown;
}

/**
 * Processes each conversation of a file. An invalid conversation is reported, and the others are still processed.
 * @returns the exit code: 1 if a conversation was invalid
 */
export async function eachConversation(
  { path, output, json, onRefusal = (error) => error }: ConversationFile,
  handle: (conversation: OpenedLine, line: string) => Promise<void>,
): Promise<number> {
  let exitCode = 0;
  for await (const { number, line } of readLines(path)) {
    let id = `line-${number}`;
    try {
      const conversation = openConversationLine(line, number);
      id = conversation.id;
      await handle(conversation, line);
    } catch (error) {
      exitCode = reportRefusal(output, id, onRefusal(error), json);
    }
  }
  return exitCode;
}
