import { runToEnd } from '../../../domain/interruptible.ts';
import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import type { HistoryNotes } from '../../../wire/histories/notes.ts';
import { type ReadMessages, readMessagesInSlices } from '../../../wire/histories/read-messages.ts';
import type { Block } from '../../../wire/histories/values.ts';

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

/** A given message that is still in the compacted context. */
export interface Survivor {
  /** Message of the context, with the caller's call ids. */
  readonly message: Message;
  readonly isChanged: boolean;
}

/** A user message that was not among the given messages: a summary, or a placeholder. */
export interface AddedText {
  readonly text: string;
  /** Id of the text. It stays the same whenever the text is written again. */
  readonly id: string;
  readonly given: readonly unknown[];
}

/** How messages of one format are read, and how changed messages are written. */
export interface MessageKind {
  readonly name: MessageFormat;
  readonly recognizes: (messages: readonly Block[]) => boolean;
  /** Divides a message into parts that can be kept or removed one by one. Default: one part. */
  readonly split?: (message: unknown) => readonly unknown[];
  /** @param isRest true if other parts of the message are placed elsewhere */
  readonly join?: (given: unknown, parts: readonly unknown[], isRest: boolean) => unknown;
  /** @throws invalid_input with the path of a value that the format does not have */
  readonly read: (parts: readonly unknown[], places: readonly string[], notes: HistoryNotes) => ReadMessages;
  /**
   * Writes survivors of given parts, with the given values wherever possible. If `parts` is empty, writes new messages.
   */
  readonly rewrite: (parts: readonly unknown[], survivors: readonly Survivor[], given: readonly unknown[]) => unknown[];
  readonly addUser: (added: AddedText) => unknown;
}

/** Reads messages of formats that need no importer. */
export function readPlain(parts: readonly unknown[], places: readonly string[], notes: HistoryNotes): ReadMessages {
  return runToEnd(readMessagesInSlices(parts, notes, places));
}

export function survivingMessages(survivors: readonly Survivor[]): Message[] {
  return survivors.map(({ message }) => message);
}

export function blocksOf(value: unknown): Block[] {
  return Array.isArray(value) ? value.filter(isMapping) : [];
}
