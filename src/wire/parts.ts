import type { Message } from '../domain/message.ts';
import { type Part, readParts } from '../domain/parts.ts';

/** Placeholder for an empty or blank text, which providers refuse (X3). */
export const EMPTY_TEXT = '(empty)';

/** A part that every provider takes. */
export type SentPart = Exclude<Part, { kind: 'other' }>;

const MEDIA_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

const WEB_URL = /^https?:\/\/./i;

/**
 * Returns the parts that can be sent, at least one. Blank texts (X3) are dropped, lone surrogates (X8) replaced, and
 * unsupported parts become a line of text.
 */
export function sendParts(message: Pick<Message, 'content' | 'parts'>): SentPart[] {
  const parts = readParts(message).filter((part) => part.kind !== 'text' || !isBlank(part.text));
  return parts.length === 0 ? [textPart(EMPTY_TEXT)] : parts.map(sendPart);
}

/** Returns a text that is well-formed and not blank. */
export function sendText(text: string): string {
  return isBlank(text) ? EMPTY_TEXT : text.toWellFormed();
}

export function textPart(text: string): SentPart {
  return { kind: 'text', text };
}

/** Compares the text of a provider's own items with a message, whose blank text was sent as the placeholder. */
export function isTextOf(said: string, text: string): boolean {
  return isBlank(said) ? text === '' || text === EMPTY_TEXT : text === said;
}

export function isBlank(text: string): boolean {
  return text.trim() === '';
}

function sendPart(part: Part): SentPart {
  switch (part.kind) {
    case 'text':
      return textPart(part.text.toWellFormed());
    case 'image':
      if (part.base64 === '') return textPart('(an empty picture is not shown)');
      return MEDIA_TYPES.has(part.mediaType) ? part : textPart(`(a picture of type ${part.mediaType} is not shown)`);
    case 'image_url':
      return WEB_URL.test(part.url) ? part : textPart('(a picture that is not on the web is not shown)');
    case 'other':
      return textPart(`(a part of type ${part.type} is not shown)`);
  }
}
