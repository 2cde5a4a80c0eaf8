import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { ReadHistory } from '../wire/histories/history.ts';
import type { HistoryNote } from '../wire/histories/notes.ts';
import { nameFile } from './files.ts';
import { openHistories } from './history-file.ts';
import { type Output, reportRefusal } from './output.ts';

/** Options of the commands that read a file of conversations. */
export interface FileOptions {
  /** Format of the file. Absent: what the file looks like. */
  readonly from?: string;
  /** True: a history that would have to be repaired is refused. */
  readonly strict?: boolean;
  readonly json?: boolean;
}

export interface ConversationFile {
  readonly path: string;
  readonly output: Output;
  readonly options?: FileOptions;
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
  { path, output, options: { from, strict, json } = {}, onRefusal = (error) => error }: ConversationFile,
  handle: (conversation: FileConversation, text: string) => Promise<void>,
): Promise<number> {
  let exitCode = 0;
  let isEmpty = true;
  let hasOpened = false;
  for await (const { id: place, text, open } of openHistories(path, from)) {
    let id = place;
    isEmpty = false;
    try {
      const conversation = open();
      hasOpened = true;
      id = conversation.id;
      const history = conversation.readHistory({ isStrict: strict });
      if (json !== true) for (const note of describeNotes(id, history.notes)) output.note(note);
      await handle({ id, ...history }, text);
    } catch (error) {
      // If the file is no conversation file, every line is wrong, so the error is reported only once.
      if (!hasOpened) throw nameWrongFile(error, path);
      exitCode = reportRefusal(output, id, onRefusal(error), json);
    }
  }
  if (isEmpty) output.note(`turnfold: ${nameFile(path)} has no conversations`);
  return exitCode;
}

function nameWrongFile(cause: unknown, path: string): unknown {
  if (!isTurnfoldError(cause)) return cause;
  const why = `expected one conversation per line, {"id", "messages"}: ${cause.message}`;
  return new TurnfoldError(cause.code, `${nameFile(path)}: ${why}`, { field: path, cause });
}

function describeNotes(id: string, notes: readonly HistoryNote[]): string[] {
  const shown = notes.slice(0, SHOWN_NOTES).map(({ at, kind, what, count = 1 }) => {
    const place = count === 1 ? at : `${at} and ${count - 1} more`;
    return `${id}: ${place}: ${kind.replace('_', ' ')}: ${what}`;
  });
  const more = notes.length - shown.length;
  return more > 0 ? [...shown, `${id}: ${more} more notes, which --json prints`] : shown;
}
