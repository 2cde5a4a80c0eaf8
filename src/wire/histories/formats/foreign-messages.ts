import { HistoryNotes } from '../notes.ts';
import type { ForeignConversation } from './format.ts';

/** Collects the messages of one conversation of a file, with their places. */
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

  /** Counts a record that is no message, by its type. */
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
