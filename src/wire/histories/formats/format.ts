/**
 * An importer (`HistoryFormat`) recognizes the records of a file and turns them into foreign messages. It does not build
 * turnfold's own messages. Once its blocks have the names of Anthropic or the AI SDK, `readHistoryInSlices` reads and
 * repairs them.
 *
 * Nothing is dropped silently. `ForeignMessages.leaveOut` counts a kind of record that is no message, with the place of
 * the first one. A record that would lose a call is an error with its place.
 *
 * A format whose files hold lists of messages is a row of `listFormat` (`message-lists.ts`). Other formats read their
 * records one by one. `detect.ts` has all formats: the first one that recognizes a file reads it.
 */

import type { ForeignHistory } from '../history.ts';
import { type HistoryNote, HistoryNotes } from '../notes.ts';
import { listOf } from '../values.ts';

/** A line of a JSONL file, or the whole document. */
export interface FileRecord {
  readonly value: unknown;
  /** Place of the record, e.g. `line 12`. Empty: the whole document. */
  readonly at: string;
}

export interface ForeignConversation extends ForeignHistory {
  readonly id?: string | undefined;
  readonly places: readonly string[];
  readonly notes: readonly HistoryNote[];
}

export interface HistoryFormat {
  readonly name: string;
  /** Name of the format with its article: `a Claude Code session`. */
  readonly title: string;
  readonly recognizes: (records: readonly FileRecord[]) => boolean;
  /** @throws invalid_input with the place of a record that would lose calls */
  readonly read: (records: readonly FileRecord[]) => ForeignConversation[];
}

export function placeIn(at: string, path: string): string {
  return at === '' ? path : `${at}.${path}`;
}

export function membersOf(list: unknown, at: string): FileRecord[] {
  return listOf(list).map((value, index) => ({ value, at: `${at}[${index}]` }));
}

/** Members of a file that is one list, or else the records of the file. */
export function listEntries(records: readonly FileRecord[]): readonly FileRecord[] {
  const [first] = records;
  return records.length === 1 && Array.isArray(first?.value) ? membersOf(first.value, first.at) : records;
}

export class ForeignMessages {
  readonly notes = new HistoryNotes();
  readonly #messages: unknown[] = [];
  readonly #places: string[] = [];

  get count(): number {
    return this.#messages.length;
  }

  add(message: unknown, at: string): void {
    this.#messages.push(message);
    this.#places.push(at);
  }

  leaveOut(what: string, at: string): void {
    this.notes.add('left_out', at, `${what} are not part of the conversation`);
  }

  finish(id?: unknown): ForeignConversation {
    return {
      id: typeof id === 'string' || typeof id === 'number' ? String(id) : undefined,
      messages: this.#messages,
      places: this.#places,
      notes: this.notes.list,
    };
  }
}
