import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { openConversationLine } from '../histories/conversation-line.ts';
import type { ReadHistory } from '../histories/history.ts';
import type { HistoryNote } from '../histories/notes.ts';
import { nameFile, readLines } from './files.ts';
import { type Output, reportRefusal } from './output.ts';

export interface ConversationFile {
  readonly path: string;
  readonly output: Output;
  readonly json?: boolean | undefined;
  /** True: a history that would have to be repaired is refused. */
  readonly strict?: boolean | undefined;
  /** Receives the error of a conversation. Returns the error to print, or throws to end the command. */
  readonly onRefusal?: (error: unknown) => unknown;
}

export interface FileConversation extends ReadHistory {
  readonly id: string;
}

/** Notes of one conversation that are printed. `--json` has more. */
const SHOWN_NOTES = 5;

/**
 * Processes each conversation of a file. An invalid conversation is reported, and the others are still processed.
 * @returns the exit code: 1 if a conversation was invalid
 */
export async function eachConversation(
  { path, output, json, strict, onRefusal = (error) => error }: ConversationFile,
  handle: (conversation: FileConversation, line: string) => Promise<void>,
): Promise<number> {
  let exitCode = 0;
  let hasOpened = false;
  for await (const { number, line } of readLines(path)) {
    let id = `line-${number}`;
    try {
      const conversation = openConversationLine(line, number);
      hasOpened = true;
      id = conversation.id;
      const history = conversation.readHistory({ isStrict: strict });
      if (json !== true) for (const text of describeNotes(id, history.notes)) output.note(text);
      await handle({ id, ...history }, line);
    } catch (error) {
      // If the file has another format, every line is wrong, so the error is reported only once.
      if (!hasOpened) throw nameWrongFile(error, path);
      exitCode = reportRefusal(output, id, onRefusal(error), json);
    }
  }
  return exitCode;
}

function nameWrongFile(cause: unknown, path: string): unknown {
  if (!isTurnfoldError(cause)) return cause;
  const why = `expected one conversation per line, {"id", "messages"}: ${cause.message}`;
  return new TurnfoldError(cause.code, `${nameFile(path)}: ${why}`, { field: path, cause });
}

function describeNotes(id: string, notes: readonly HistoryNote[]): string[] {
  const shown = notes
    .slice(0, SHOWN_NOTES)
    .map(({ at, kind, what }) => `${id}: ${at}: ${kind.replace('_', ' ')}: ${what}`);
  const more = notes.length - shown.length;
  return more > 0 ? [...shown, `${id}: ${more} more notes, which --json prints`] : shown;
}
