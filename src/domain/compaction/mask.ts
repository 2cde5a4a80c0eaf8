import type { ContextItem } from '../context-item.ts';
import type { Message, WeighedMessage, Weight } from '../message.ts';

/**
 * What a masked result counts: its text and what every message counts, for whatever size and seq. Fixed, so that a version can
 * name whole stretches as masked, and their weight is known without counting again.
 */
export const MASK_TOKENS = 32;

/** A result that is worth a mask: larger than one. */
export function isMaskable({ message, tokens }: WeighedMessage): boolean {
  return message.role === 'tool' && tokens > MASK_TOKENS;
}

/**
 * A tool result as a mask: that it came, how it ended, how large it is and where it lies. Call id and error mark stay as they
 * are (X1, A12). The same for the same entry, so that no version has to keep it.
 */
export function maskResult({ message, bytes }: WeighedMessage, seq: number): Message {
  const { parts: _parts, raw: _raw, ...result } = message;
  const outcome = message.isError === true ? 'failed' : 'done';
  return { ...result, content: `[result masked: ${outcome}, ${bytes} bytes, message ${seq} of the log]` };
}

/** A log entry in a masked stretch. What is no result, or too small, stands there as it is. */
export function maskedItem(entry: WeighedMessage, seq: number): ContextItem {
  const { message, tokens, bytes } = entry;
  const item = { from: seq, to: seq, message, tokens, bytes };
  if (!isMaskable(entry)) return item;
  const masked = maskResult(entry, seq);
  const weight: Weight = { tokens: MASK_TOKENS, bytes: masked.content.length };
  return { ...item, ...weight, message: masked, segment: { kind: 'masked', from: seq, to: seq, weight } };
}
