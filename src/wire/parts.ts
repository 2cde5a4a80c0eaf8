import type { Message } from '../domain/message.ts';
import { type Part, readParts } from '../domain/parts.ts';

/** Placeholder for an empty or blank text, because providers refuse such texts (wire rule X3). */
export const EMPTY_TEXT = '(empty)';

/** A message part that every provider accepts. */
export type SentPart = Exclude<Part, { kind: 'other' }>;

const MEDIA_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

const WEB_URL = /^https?:\/\/./i;

/**
 * Returns the parts of a message that are sent, at least one. Blank texts are dropped (wire rule X3), lone surrogates
 * are replaced (wire rule X8), and unsupported parts become a line of text.
 */
export function sendParts(message: Pick<Message, 'content' | 'parts'>): SentPart[] {
  const parts = readParts(message).filter((part) => part.kind !== 'text' || !isBlank(part.text));
  return parts.length === 0 ? [textPart(EMPTY_TEXT)] : parts.map(sendPart);
}

/** Returns the text with lone surrogates replaced, or a placeholder if the text is blank. */
export function sendText(text: string): string {
  return isBlank(text) ? EMPTY_TEXT : text.toWellFormed();
}

export function textPart(text: string): SentPart {
  return { kind: 'text', text };
}

/**
 * Returns true if the text in a provider's verbatim items equals the text of the logged message. A blank text counts as
 * equal to the placeholder that was sent for it.
 */
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
