import type { Message, WeighedMessage, Weight } from '../message.ts';
import type { ContextItem } from '../version.ts';

/**
 * Fixed weight of a masked result without a note, for any size and seq. A version can then mark a whole stretch as
 * masked, and its weight needs no new count.
 */
export const MASK_TOKENS = 32;

/** Description of a masked result, with the weight of the masked message. A version stores both. */
export interface MaskNote {
  readonly note: string;
  readonly weight: Weight;
}

/** Decides whether a message is a tool result that is larger than a mask. */
export function isMaskable({ message, tokens }: WeighedMessage): boolean {
  return message.role === 'tool' && tokens > MASK_TOKENS;
}

/**
 * Masks a tool result. The text states its outcome, size and place in the log, where `recall` reads the result. Call id and
 * error mark stay. The same note gives the same text (I15).
 * @param note description of the result. Without a note, only the outcome is stated
 */
export function maskResult({ message, bytes }: WeighedMessage, seq: number, note?: string): Message {
  const outcome = note ?? (message.isError === true ? 'failed' : 'done');
  const content = `[result masked: ${outcome}, ${bytes} bytes, message ${seq} of the log]`;
  // Most results have neither field. A copy without exceptions takes a tenth of the time.
  if (message.parts === undefined && message.raw === undefined) return { ...message, content };
  const { parts: _parts, raw: _raw, ...result } = message;
  return { ...result, content };
}

/**
 * Builds the context item of a log entry inside a masked segment. A line of text replaces a large tool result. Other
 * messages and small results stay as they are.
 */
export function maskedItem(entry: WeighedMessage, seq: number, noted?: MaskNote): ContextItem {
  const { message, tokens, bytes } = entry;
  if (!isMaskable(entry)) return { from: seq, to: seq, message, tokens, bytes };
  const masked = maskResult(entry, seq, noted?.note);
  const weight: Weight = noted?.weight ?? { tokens: MASK_TOKENS, bytes: masked.content.length };
  const segment = { kind: 'masked' as const, from: seq, to: seq, weight, ...(noted && { note: noted.note }) };
  return { from: seq, to: seq, message: masked, tokens: weight.tokens, bytes: weight.bytes, segment };
}
