import { z } from 'zod';
import { boundedList, boundedRecord } from '../../domain/bounded-schemas.ts';
import { idSchema } from '../../domain/ids.ts';
import { jsonSchema, type messageSchema } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { forEachInSlices, mapInSlices, type Sliced } from '../../domain/sliced.ts';
import type { HistoryNotes } from '../../wire/histories/notes.ts';
import { type ReadMessages, readMessagesInSlices } from '../../wire/histories/read-messages.ts';
import { checkMessageBytes, conversationFields } from './input.ts';
import { checkContents } from './input-parts.ts';

/** Input of `append`: messages for the log, without a turn. */
export interface AppendInput {
  readonly conversation: string;
  readonly tenant?: string | undefined;
  readonly agent: string;
  /**
   * Messages, oldest first, at most 5,000: in turnfold's format, or in a format of OpenAI, Anthropic, the AI SDK, LangChain or
   * Ollama. Calls of earlier messages that have no result are closed.
   */
  readonly messages: readonly (MessageInput | ForeignMessage)[];
  /** Id under which a repeated call changes nothing. */
  readonly operation?: string | undefined;
  /** The append fails with `conflict` unless the log ends at this position (seq). */
  readonly expectedHead?: number | undefined;
  /** True: messages that would have to be repaired are refused. */
  readonly strict?: boolean | undefined;
}

type MessageInput = z.input<typeof messageSchema>;

/** A message as another program wrote it. */
export type ForeignMessage = Readonly<Record<string, unknown>>;

export const appendSchema = z.strictObject({
  ...conversationFields,
  agent: idSchema,
  /** `readAppendedInSlices` validates each message. */
  messages: boundedList(z.unknown(), 5_000).refine((messages) => messages.length > 0, 'expected at least one message'),
  operation: idSchema.optional(),
  expectedHead: z.number().int().min(0).optional(),
  strict: z.boolean().optional(),
});

/** More fields than a message of any format has. */
const MAX_FIELDS = 100;

const copySchema = boundedRecord(z.string(), z.union([z.string(), jsonSchema]), MAX_FIELDS);

/**
 * Reads messages of any format, and checks their sizes and parts, so that 5,000 of them do not block the event loop.
 * @throws invalid_input or message_too_large with the field
 */
export function* readAppendedInSlices(given: readonly unknown[], notes: HistoryNotes): Sliced<ReadMessages> {
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
