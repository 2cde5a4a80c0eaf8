/**
 * An importer (`HistoryFormat`) recognizes the records of a file and turns them into foreign messages. The blocks of
 * these have the names of Anthropic or the AI SDK. `readHistoryInSlices` then reads and repairs these messages.
 *
 * Nothing is dropped silently. `ForeignMessages.leaveOut` counts the records of each kind that are no messages, with
 * the place of the first. A record whose loss would lose a tool call is an error.
 *
 * A format with lists of messages is a row of `listFormat` (`message-lists.ts`). Other formats read record by record.
 * The first format in `detect.ts` that recognizes a file reads it.
 */

import { isMapping } from '../../../domain/parse.ts';
import type { ForeignHistory } from '../history.ts';
import { type HistoryNote, HistoryNotes } from '../notes.ts';
import { type Block, listOf } from '../values.ts';

/** A line of a JSONL file, or a whole document. */
export interface FileRecord {
  readonly value: unknown;
  /** Place for notes and errors, e.g. `line 12`. Empty for a whole document. */
  readonly at: string;
}

export interface ForeignConversation extends ForeignHistory {
  readonly id?: string | undefined;
  readonly places: readonly string[];
  readonly notes: readonly HistoryNote[];
}

export interface HistoryFormat {
  readonly name: string;
  /** Name of the format in a sentence, with an article: `a Claude Code session`. */
  readonly title: string;
  readonly recognizes: (records: readonly FileRecord[]) => boolean;
  /** @throws invalid_input with the place of the first record whose tool calls the import could not keep */
  readonly read: (records: readonly FileRecord[]) => ForeignConversation[];
}

export function placeIn(at: string, path: string): string {
  return at === '' ? path : `${at}.${path}`;
}

export function membersOf(list: unknown, at: string): FileRecord[] {
  return listOf(list).map((value, index) => ({ value, at: `${at}[${index}]` }));
}

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

  /** Returns the records that are objects, and leaves out other records. */
  objectsIn(records: readonly FileRecord[]): (FileRecord & { readonly value: Block })[] {
    return records.filter((record): record is FileRecord & { readonly value: Block } => {
      const isObject = isMapping(record.value);
      if (!isObject) this.leaveOut('values that are no objects', record.at);
      return isObject;
    });
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
