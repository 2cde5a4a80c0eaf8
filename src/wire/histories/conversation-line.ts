import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from '../../domain/bounded-schemas.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { runToEnd } from '../../domain/interruptible.ts';
import { parseJsonText } from '../../domain/json-text.ts';
import type { Message } from '../../domain/message.ts';
import { isMapping, parseInput } from '../../domain/parse.ts';
import { type HistoryOptions, type ReadHistory, readHistoryInSlices } from './history.ts';

export interface ConversationLine {
  readonly id: string;
  readonly messages: readonly Message[];
}

/** Bounds for a conversation of 500,000 messages. */
export const LINE_BOUNDS = { maxDepth: 200, maxValues: 10_000_000 };

const idSchema = z.object({ id: z.string().min(1).optional() });
const messagesSchema = z.object({ messages: boundedList(z.unknown(), MAX_GROWN_ENTRIES) });

/** A conversation whose messages are read later, so that an error in them can name the conversation. */
export interface OpenedConversation {
  readonly id: string;
  readonly readHistory: (options?: HistoryOptions) => ReadHistory;
}

/**
 * @param number line number from 1, and the id of a line without an id
 * @throws invalid_input with the field
 */
export function openConversationLine(line: string, number: number): OpenedConversation {
  const value = parseLine(line, `line ${number}`);
  const { id = `line-${number}` } = parseInput(idSchema, value);
  const readHistory = (options?: HistoryOptions): ReadHistory =>
    runToEnd(readHistoryInSlices(parseInput(messagesSchema, value), options));
  return { id, readHistory };
}

export function readConversationLine(line: string, number: number): ConversationLine {
  const { id, readHistory } = openConversationLine(line, number);
  return { id, messages: readHistory().messages };
}

export function writeConversationLine(conversation: ConversationLine): string {
  return JSON.stringify(conversation);
}

function parseLine(line: string, at: string): Record<string, unknown> {
  const value = parseJsonText(line, at, LINE_BOUNDS);
  if (!isMapping(value)) throw new TurnfoldError('invalid_input', `${at}: expected a JSON object`, { field: at });
  return value;
}
