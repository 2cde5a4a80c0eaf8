import { z } from 'zod';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { forEachInSlices, type Interruptible, mapInSlices } from '../../domain/interruptible.ts';
import { jsonSchema } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import type { HistoryNotes } from '../../wire/histories/notes.ts';
import { type ReadMessages, readMessagesInSlices } from '../../wire/histories/read-messages.ts';
import { checkContents, checkMessageBytes } from './weigh-message.ts';

/** More fields than a message of any format has. */
const MAX_FIELDS = 100;

const copySchema = boundedRecord(z.string(), z.union([z.string(), jsonSchema]), MAX_FIELDS);

/**
 * Reads messages of any format, and checks their sizes and parts, so that 5,000 of them do not block the event loop.
 * @throws invalid_input or message_too_large with the field
 */
export function* readAppendedInSlices(given: readonly unknown[], notes: HistoryNotes): Interruptible<ReadMessages> {
  // A caller's objects may throw when they are read. The copies cannot.
  const copies = yield* mapInSlices(given, (message, index) => parseInput(copySchema, message, `messages[${index}]`));
  const read = yield* readMessagesInSlices(copies, notes);
  yield* forEachInSlices(read.messages, (message, index) => {
    const place = read.places[index] ?? 'messages';
    checkMessageBytes(message, place);
    checkContents(message, place);
  });
  return read;
}
