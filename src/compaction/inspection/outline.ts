import type { LeaveCause, LogEntry, Message, Role } from '../../domain/message.ts';
import { splitsPair } from '../excerpt.ts';
import { hasPictures, isMaskable } from '../mask.ts';
import type { EntryFate } from './entry-fates.ts';
import type { EntryState } from './names.ts';
import { readThinking } from './thinking.ts';

/** One message of the log without its text, and what became of it. */
export interface OutlineEntry {
  /** Position in the log. */
  readonly seq: number;
  /** Author of the message. */
  readonly role: Role;
  /** Tokens of the message in the log. */
  readonly tokens: number;
  /** UTF-8 bytes of the message in the log. */
  readonly bytes: number;
  /** Turn that wrote the message. Absent for appended messages. */
  readonly turn?: string;
  /** In ms since epoch. */
  readonly at: number;
  /** First 160 characters of the text, on one line. */
  readonly start: string;
  /** Names of the called tools. */
  readonly calls?: readonly string[];
  /** True for the result of a failed tool call. */
  readonly isError?: true;
  /** True if the turn was canceled while the model wrote the message. */
  readonly stopped?: true;
  /** Present if the message holds thinking of the model. */
  readonly thinking?: true;
  /** Compaction never removes the message. */
  readonly pinned?: true;
  readonly state: EntryState;
  /** Version that gave the message its state. Absent for `live`. */
  readonly by?: number;
  /** Why the message left the context when its turn was settled. */
  readonly left?: LeaveCause;
}

const START_CHARS = 160;

/** Maximum characters that are searched, because a text may begin with a megabyte of blanks. */
const READ_CHARS = 4 * START_CHARS;

export function startOf(text: string): string {
  const line = text.slice(0, READ_CHARS).replaceAll(/\s+/g, ' ').trim();
  return line.slice(0, splitsPair(line, START_CHARS) ? START_CHARS - 1 : START_CHARS).toWellFormed();
}

/** Text by which a person recognizes a message: its content, or else the arguments of its first call. */
export function labelText({ content, toolCalls }: Message): string {
  return content.trim() === '' ? (toolCalls?.[0]?.arguments ?? '') : content;
}

/** @param fate undefined: the context shows the entry as it is in the log */
export function outlineEntry(entry: LogEntry, fate: EntryFate | undefined): OutlineEntry {
  const { seq, message, tokens, bytes, turn, at } = entry;
  const { role, toolCalls, isError, stopped, pinned } = message;
  return {
    seq,
    role,
    tokens,
    bytes,
    ...(turn !== undefined && { turn }),
    at,
    start: startOf(labelText(message)),
    ...(toolCalls && { calls: toolCalls.map(({ name }) => name) }),
    ...(isError === true && { isError }),
    ...(stopped === true && { stopped }),
    ...(readThinking(message) !== undefined && { thinking: true }),
    ...(pinned === true && { pinned }),
    ...describeFate(entry, fate),
  };
}

/**
 * State of an entry. A masked range also holds messages that stay unchanged: all but large tool results and pictures.
 */
function describeFate(entry: LogEntry, fate: EntryFate | undefined): Pick<OutlineEntry, 'state' | 'by'> {
  if (fate === undefined) return { state: 'live' };
  const { state, by, shown } = fate;
  const isWhole = state === 'masked' && shown === '' && !isMaskable(entry) && !hasPictures(entry.message);
  return isWhole ? { state: 'live' } : { state, by };
}
