import type { ForeignHistory } from '../history.ts';
import type { HistoryNote } from '../notes.ts';

/** One value of a file: a line of a JSONL file, or the whole document. */
export interface FileRecord {
  readonly value: unknown;
  /** Place of the value in the file, e.g. `line 12`. Empty: the value is the whole document. */
  readonly at: string;
}

export interface ForeignConversation extends ForeignHistory {
  /** Id that the file gives the conversation. */
  readonly id?: string | undefined;
  readonly places: readonly string[];
  readonly notes: readonly HistoryNote[];
}

/** A file format of another program, of which a reader makes conversations. */
export interface HistoryFormat {
  /** Value of the option `--from`. */
  readonly name: string;
  /** Name for people, with its article: `a Claude Code session`. */
  readonly title: string;
  readonly recognizes: (records: readonly FileRecord[]) => boolean;
  /** @throws invalid_input with the place of a record that would lose calls */
  readonly read: (records: readonly FileRecord[]) => ForeignConversation[];
}

/** Returns the place of a member of a record. */
export function placeIn(at: string, path: string): string {
  return at === '' ? path : `${at}.${path}`;
}
