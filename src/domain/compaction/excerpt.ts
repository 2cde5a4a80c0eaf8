import type { Message } from '../message.ts';
import type { KeptRange } from '../version.ts';

/** Ranges that an excerpt may have besides those for its length. */
const BASE_RANGES = 32;
/** Characters of the message that permit one more range. */
const CHARS_A_RANGE = 512;

/** Most ranges of an excerpt from a text of this length. It bounds the size of a version: about 12 bytes per range. */
export function mostRanges(chars: number): number {
  return BASE_RANGES + Math.floor(chars / CHARS_A_RANGE);
}

/**
 * Shortens a message to the ranges of its text that stay. `…` marks each place where text is missing, and the first line
 * names the message of the log. The same ranges give the same text, so that no version has to store it (I15). Ranges
 * beyond the text and ranges that split a character are corrected, because a stored version must always be readable.
 */
export function excerptMessage(message: Message, kept: readonly KeptRange[], seq: number): Message {
  const { raw: _raw, parts: _parts, ...others } = message;
  const { content: text } = message;
  const lines = [`[excerpt of message ${seq}]`];
  let end = 0;
  for (const [start, to] of kept) {
    const part = text.slice(wholeFrom(text, start), wholeFrom(text, to));
    if (part === '') continue;
    lines.push(start > end ? `… ${part}` : part);
    end = to;
  }
  if (end < text.length) lines.push('…');
  return { ...others, content: lines.join('\n') };
}

/** Moves an index inside a surrogate pair to the start of the pair. */
function wholeFrom(text: string, at: number): number {
  return splitsPair(text, at) ? at - 1 : at;
}

/** Checks whether a cut at this index would split a surrogate pair. */
export function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
