import type { Message, WeighedMessage, Weight } from '../message.ts';
import type { ContextItem } from '../version.ts';

/**
 * Fixed weight of a masked result, for any size and seq. A version can then mark a whole stretch as masked, and its
 * weight needs no new count.
 */
export const MASK_TOKENS = 32;

/** Decides whether a message is a tool result that is larger than a mask. */
export function isMaskable({ message, tokens }: WeighedMessage): boolean {
  return message.role === 'tool' && tokens > MASK_TOKENS;
}

/**
 * Masks a tool result. The text states its outcome, size and place in the log. Call id and error mark stay. The result
 * is deterministic, so that no version has to store it (I15).
 */
export function maskResult({ message, bytes }: WeighedMessage, seq: number): Message {
  const { parts: _parts, raw: _raw, ...result } = message;
  const outcome = message.isError === true ? 'failed' : 'done';
  return { ...result, content: `[result masked: ${outcome}, ${bytes} bytes, message ${seq} of the log]` };
}

/**
 * Builds the context item of a log entry inside a masked segment. A line of text replaces a large tool result. Other
 * messages and small results stay as they are.
 */
export function maskedItem(entry: WeighedMessage, seq: number): ContextItem {
  const { message, tokens, bytes } = entry;
  const item = { from: seq, to: seq, message, tokens, bytes };
  if (!isMaskable(entry)) return item;
  const masked = maskResult(entry, seq);
  const weight: Weight = { tokens: MASK_TOKENS, bytes: masked.content.length };
  return { ...item, ...weight, message: masked, segment: { kind: 'masked', from: seq, to: seq, weight } };
}
