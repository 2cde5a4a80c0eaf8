import { z } from 'zod';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { findContentFlaw } from '../../domain/content-flaws.ts';
import { fieldError } from '../../domain/errors.ts';
import { forEachInSlices, type Interruptible, mapInSlices } from '../../domain/interruptible.ts';
import { jsonSchema, MAX_MESSAGE_BYTES, type Message, type WeighedMessage } from '../../domain/message.ts';
import { joinPath, parseInput } from '../../domain/parse.ts';
import { readPart } from '../../domain/parts.ts';
import type { HistoryNotes } from '../../wire/histories/notes.ts';
import { type ReadMessages, readMessagesInSlices } from '../../wire/histories/read-messages.ts';
import { bytesOfMessage, countMessage } from '../../wire/tokens/message-tokens.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { MAX_MESSAGE_FIELDS } from '../contract/messages.ts';

/** @throws message_too_large above 1 MiB, with the field */
export async function weighMessage(counter: TokenCounter, message: Message, field: string): Promise<WeighedMessage> {
  checkMessageBytes(message, field);
  const bytes = bytesOfMessage(message);
  return { message, bytes, tokens: await countMessage(counter, message) };
}

export function checkMessageBytes(message: Message, field: string): void {
  // The text is checked first: writing a message of hundreds of megabytes as JSON would block the process.
  checkBytes(message.content, field);
  checkBytes(JSON.stringify(message), field);
}

export function checkBytes(text: string, field: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_MESSAGE_BYTES) return;
  const why = `the message has ${bytes} bytes, but the limit is ${MAX_MESSAGE_BYTES}`;
  throw fieldError('message_too_large', field, why, { details: { bytes } });
}

/** Refuses an image or file that no provider can read, because every later request would contain it. */
export function checkContents({ parts = [] }: Pick<Message, 'parts'>, at: string): void {
  for (const [index, given] of parts.entries()) {
    const flaw = findContentFlaw(readPart(given));
    if (flaw !== undefined) throw fieldError('invalid_input', joinPath(at, ['parts', index]), flaw);
  }
}

const copySchema = boundedRecord(z.string(), z.union([z.string(), jsonSchema]), MAX_MESSAGE_FIELDS);

export function* readAppendedInSlices(given: readonly unknown[], notes: HistoryNotes): Interruptible<ReadMessages> {
  // Objects of callers may throw when they are read. Their copies cannot throw.
  const copies = yield* mapInSlices(given, (message, index) => parseInput(copySchema, message, `messages[${index}]`));
  const read = yield* readMessagesInSlices(copies, notes);
  yield* forEachInSlices(read.messages, (message, index) => {
    const place = read.places[index] ?? 'messages';
    checkMessageBytes(message, place);
    checkContents(message, place);
  });
  return read;
}
