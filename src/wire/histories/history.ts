import type { Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { type HistoryNote, HistoryNotes } from './notes.ts';
import { readMessagesInSlices } from './read-messages.ts';
import { repairCallsInSlices } from './repair-calls.ts';

export interface ReadHistory {
  readonly messages: readonly Message[];
  readonly notes: readonly HistoryNote[];
}

export interface HistoryOptions {
  /** Refuses a history that needs repair. */
  readonly isStrict?: boolean | undefined;
}

export interface ForeignHistory {
  readonly messages: readonly unknown[];
  /** Place of each message in its file, for notes and errors. Default: `messages[0]` and so on. */
  readonly places?: readonly string[];
  readonly notes?: readonly HistoryNote[];
}

/**
 * Reads and repairs a whole conversation, in any known format.
 * @throws invalid_input with the path of an unknown value, or of a value that a strict reader would have to repair
 */
export function* readHistoryInSlices(given: ForeignHistory, options: HistoryOptions = {}): Interruptible<ReadHistory> {
  const notes = new HistoryNotes({ isStrict: options.isStrict === true });
  for (const { kind, at, what, count } of given.notes ?? []) notes.add(kind, at, what, count);
  const { messages, places } = yield* readMessagesInSlices(given.messages, notes, given.places);
  const placeOf = (index: number): string => places[index] ?? 'messages';
  const repaired = yield* repairCallsInSlices(messages, { notes, placeOf });
  return { messages: repaired.map(({ message }) => message), notes: notes.list };
}
