import type { Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { type HistoryNote, HistoryNotes } from './notes.ts';
import { readMessagesInSlices } from './read-messages.ts';
import { repairCallsInSlices } from './repair-calls.ts';

/** A history in turnfold's format, each of whose calls has one result, with notes of what was changed to get there. */
export interface ReadHistory {
  readonly messages: readonly Message[];
  readonly notes: readonly HistoryNote[];
}

export interface HistoryOptions {
  /** True: a history that would have to be repaired is refused. */
  readonly isStrict?: boolean | undefined;
}

/** Messages as another program wrote them. */
export interface ForeignHistory {
  /** Each in one of the formats that `readMessagesInSlices` reads. */
  readonly messages: readonly unknown[];
  /** Path of each message in its file. Default: `messages[0]` and so on. */
  readonly places?: readonly string[];
  /** Notes of the importer. */
  readonly notes?: readonly HistoryNote[];
}

/**
 * Reads the messages of a whole conversation, in any format that turnfold knows, and repairs them.
 * @throws invalid_input with the path of what turnfold does not know, or of what a strict reader does not repair
 */
export function* readHistoryInSlices(given: ForeignHistory, options: HistoryOptions = {}): Interruptible<ReadHistory> {
  const notes = new HistoryNotes({ isStrict: options.isStrict === true });
  for (const { kind, at, what, count } of given.notes ?? []) notes.add(kind, at, what, count);
  const { messages, places } = yield* readMessagesInSlices(given.messages, notes, given.places);
  const placeOf = (index: number): string => places[index] ?? 'messages';
  const repaired = yield* repairCallsInSlices(messages, { notes, placeOf });
  return { messages: repaired.map(({ message }) => message), notes: notes.list };
}
