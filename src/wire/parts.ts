import type { Message } from '../domain/message.ts';
import { type Part, readParts } from '../domain/parts.ts';

/** Stands for a text that is empty or blank: providers refuse it (X3). */
export const EMPTY_TEXT = '(empty)';

/** A part that every provider knows how to read. */
export type SentPart = Exclude<Part, { kind: 'other' }>;

/** Pictures that all of them take. */
const MEDIA_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** What a provider fetches. */
const WEB_URL = /^https?:\/\/./i;

export interface SentParts {
  /** at least one; no text is blank */
  readonly parts: readonly SentPart[];
  /** the parts are the message's own, so that it can be told from them */
  readonly isExact: boolean;
}

/** What of a message can be sent: no blank text (X3), no lone surrogate (X8), a line of text for what no provider takes. */
export function sendParts(message: Pick<Message, 'content' | 'parts'>): SentParts {
  const given = readParts(message);
  const parts = given.filter((part) => part.kind !== 'text' || !isBlank(part.text)).map(sendPart);
  if (parts.length === 0) return { parts: [textPart(EMPTY_TEXT)], isExact: false };
  return { parts, isExact: parts.length === given.length && parts.every((part, index) => part === given[index]) };
}

/** A text as it can be sent; never blank. */
export function sendText(text: string): string {
  return isBlank(text) ? EMPTY_TEXT : text.toWellFormed();
}

export function textPart(text: string): SentPart {
  return { kind: 'text', text };
}

/** Whether a provider's own items have the text of a message. A blank text was sent as the placeholder. */
export function isTextOf(said: string, text: string): boolean {
  return isBlank(said) ? text === '' || text === EMPTY_TEXT : text === said;
}

export function isBlank(text: string): boolean {
  return text.trim() === '';
}

function sendPart(part: Part): SentPart {
  switch (part.kind) {
    case 'text':
      return part.text.isWellFormed() ? part : textPart(part.text.toWellFormed());
    case 'image':
      if (part.base64 === '') return textPart('(an empty picture is not shown)');
      return MEDIA_TYPES.has(part.mediaType) ? part : textPart(`(a picture of type ${part.mediaType} is not shown)`);
    case 'image_url':
      return WEB_URL.test(part.url) ? part : textPart('(a picture that is not on the web is not shown)');
    case 'other':
      return textPart(`(a part of type ${part.type} is not shown)`);
  }
}
