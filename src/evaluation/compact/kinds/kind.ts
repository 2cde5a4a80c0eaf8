import { runToEnd } from '../../../domain/interruptible.ts';
import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import type { HistoryNotes } from '../../../wire/histories/notes.ts';
import { type ReadMessages, readMessagesInSlices } from '../../../wire/histories/read-messages.ts';
import type { Block } from '../../../wire/histories/values.ts';

/** Formats of messages that can be compacted. */
export const MESSAGE_FORMATS = [
  'ai-sdk',
  'ai-sdk-ui',
  'anthropic',
  'langchain',
  'openai-agents',
  'openai-chat',
  'openai-responses',
  'turnfold',
] as const;

/** Format of a list of messages. */
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

/** A message of the log that a given message became, as it is in the compacted context. */
export interface Survivor {
  /** The message, with the ids of calls that the caller uses. */
  readonly message: Message;
  /** True if the message differs from the given one. */
  readonly isChanged: boolean;
}

/** Text of a user message that was not given: a summary, or a placeholder. */
export interface AddedText {
  readonly text: string;
  /** Id that is the same whenever the text is written again. */
  readonly id: string;
  /** All given messages. */
  readonly given: readonly unknown[];
}

/** How messages of one format are read, and how changed messages are written in the same format. */
export interface MessageKind {
  readonly name: MessageFormat;
  /** Returns true if the messages have marks of this format. */
  readonly recognizes: (messages: readonly Block[]) => boolean;
  /**
   * Divides a given message into parts that can be kept or removed one by one. Default: the message is one part.
   */
  readonly split?: (message: unknown) => readonly unknown[];
  /** Joins parts of one given message. @param isRest true if other parts of the message stand elsewhere */
  readonly join?: (given: unknown, parts: readonly unknown[], isRest: boolean) => unknown;
  /** @throws invalid_input with the path of what the format does not have */
  readonly read: (parts: readonly unknown[], places: readonly string[], notes: HistoryNotes) => ReadMessages;
  /**
   * Writes what stays of one or more given parts. Takes values from the given parts wherever they did not change. Without
   * parts, writes all survivors as new messages.
   */
  readonly rewrite: (parts: readonly unknown[], survivors: readonly Survivor[], given: readonly unknown[]) => unknown[];
  readonly addUser: (added: AddedText) => unknown;
}

/** Reads messages of the formats that need no importer. */
export function readPlain(parts: readonly unknown[], places: readonly string[], notes: HistoryNotes): ReadMessages {
  return runToEnd(readMessagesInSlices(parts, notes, places));
}

/** Returns the messages of survivors. */
export function survivingMessages(survivors: readonly Survivor[]): Message[] {
  return survivors.map(({ message }) => message);
}

/** Returns the blocks of a list, and an empty list for any other value. */
export function blocksOf(value: unknown): Block[] {
  return Array.isArray(value) ? value.filter(isMapping) : [];
}
