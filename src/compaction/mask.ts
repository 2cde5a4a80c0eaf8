import type { Message, WeighedMessage, Weight } from '../domain/message.ts';
import { readParts } from '../domain/parts.ts';
import type { ContextItem } from '../domain/version.ts';

/** Tokens that every mask without a note counts as, so that a version can mask a whole stretch without a new count. */
export const MASK_TOKENS = 32;

interface MaskNote {
  readonly note: string;
  readonly weight: Weight;
}

export function isMaskable({ message, tokens }: WeighedMessage): boolean {
  return message.role === 'tool' && tokens > MASK_TOKENS;
}

/**
 * Text that replaces a result. The text names the place where `recall` reads the result. The same note gives the same
 * text (I15). Without a note, the mask states only the outcome.
 */
export function maskResult({ message, bytes }: WeighedMessage, seq: number, note?: string): Message {
  const outcome = note ?? (message.isError === true ? 'failed' : 'done');
  const content = `[result masked: ${outcome}, ${bytes} bytes, message ${seq} of the log]`;
  // Most results have neither `parts` nor `raw`. Copying all fields of such a result takes a tenth of the time.
  if (message.parts === undefined && message.raw === undefined) return { ...message, content };
  const { parts: _parts, raw: _raw, ...result } = message;
  return { ...result, content };
}

export function hasPictures(message: Message): boolean {
  return message.parts !== undefined && countPictures(message) > 0;
}

export function namePictures(message: Message): string {
  const count = countPictures(message);
  return count === 1 ? '1 picture' : `${count} pictures`;
}

function countPictures(message: Message): number {
  return readParts(message).filter(({ kind }) => kind === 'image' || kind === 'image_url').length;
}

/** Replaces the pictures of a message, and keeps its texts. The same note gives the same text (I15). */
export function maskPictures(message: Message, seq: number, note: string): Message {
  const { parts: _parts, raw: _raw, ...rest } = message;
  const texts = readParts(message).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  return { ...rest, content: [...texts, `[${note} masked, message ${seq} of the log]`].join('\n') };
}

/** Item that shows a line of text instead of a large tool result, or instead of the pictures of another message. */
export function maskedItem(entry: WeighedMessage, seq: number, noted?: MaskNote): ContextItem {
  const { message, tokens, bytes } = entry;
  if (noted !== undefined && isPictureNote(message, noted)) {
    const { note, weight } = noted;
    const segment = { kind: 'masked' as const, from: seq, to: seq, weight, note };
    return { from: seq, to: seq, message: maskPictures(message, seq, note), ...weight, segment };
  }
  if (!isMaskable(entry)) return { from: seq, to: seq, message, tokens, bytes };
  const masked = maskResult(entry, seq, noted?.note);
  const weight: Weight = noted?.weight ?? { tokens: MASK_TOKENS, bytes: masked.content.length };
  const segment = { kind: 'masked' as const, from: seq, to: seq, weight, ...(noted && { note: noted.note }) };
  return { from: seq, to: seq, message: masked, tokens: weight.tokens, bytes: weight.bytes, segment };
}

/** False for the note of a tool result, which names its call instead. */
function isPictureNote(message: Message, { note }: MaskNote): boolean {
  return hasPictures(message) && note === namePictures(message);
}
