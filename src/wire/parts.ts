import { findContentFlaw, readMediaType } from '../domain/content-flaws.ts';
import type { Message } from '../domain/message.ts';
import type { ModelAbilities } from '../domain/model-options.ts';
import { type ContentPart, PDF, readParts } from '../domain/parts.ts';
import { PICTURE_TYPES } from '../domain/picture-size.ts';

/** Text that is sent instead of a blank text, which providers refuse (wire rule X3). */
export const EMPTY_TEXT = '(empty)';

/** Text of a tool result that has only a picture. The picture follows in a user message (wire rule C6). */
export const PICTURE_FOLLOWS = '(the picture follows)';

export type SentPart = Exclude<ContentPart, { kind: 'other' | 'reference' }>;

/** Returns at least one part. Blank texts are dropped (wire rule X3), and unsupported parts become texts. */
export function sendParts(
  message: Pick<Message, 'content' | 'parts'>,
  inputs: ModelAbilities['inputs'] = ALL_INPUTS,
): SentPart[] {
  const parts = readParts(message).filter((part) => part.kind !== 'text' || !isBlank(part.text));
  return parts.length === 0 ? [textPart(EMPTY_TEXT)] : parts.map((part) => sendPart(part, inputs));
}

export function sendText(text: string): string {
  return isBlank(text) ? EMPTY_TEXT : text.toWellFormed();
}

export function textPart(text: string): SentPart {
  return { kind: 'text', text };
}

/** Wire rule A12: providers accept only text in the result of a failed call. */
export function hidePicture(part: SentPart): SentPart {
  return part.kind === 'text' ? part : textPart('(a picture of the failed call is not shown)');
}

export function isBlank(text: string): boolean {
  return text.trim() === '';
}

export function isFilledText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export function dataUrl({ mediaType, base64 }: { readonly mediaType: string; readonly base64: string }): string {
  return `data:${mediaType};base64,${base64}`;
}

const ALL_INPUTS = ['image', 'pdf'] as const;

function sendPart(part: ContentPart, inputs: NonNullable<ModelAbilities['inputs']>): SentPart {
  switch (part.kind) {
    case 'text':
      return textPart(part.text.toWellFormed());
    case 'image':
      if (!inputs.includes('image')) return textPart(UNREAD_PICTURE);
      return sendPicture(part);
    case 'image_url':
      if (!inputs.includes('image')) return textPart(UNREAD_PICTURE);
      return isSound(part) ? part : textPart('(a picture that is not on the web is not shown)');
    case 'file':
    case 'file_url':
      return sendFile(part, inputs);
    case 'reference':
      return textPart(`(content of type ${part.mediaType} is kept elsewhere and not shown)`);
    case 'other':
      return textPart(`(a part of type ${part.type} is not shown)`);
  }
}

const UNREACHABLE_FILE = '(a file that is not on the web is not shown)';
const UNREAD_PICTURE = '(a picture is not shown, because the model reads none)';

/** False for a part that no provider can read, e.g. from `loadContent`. Every later request would be refused. */
function isSound(part: ContentPart): boolean {
  return findContentFlaw(part) === undefined;
}

function sendPicture(part: Extract<ContentPart, { kind: 'image' }>): SentPart {
  if (part.base64 === '') return textPart('(an empty picture is not shown)');
  if (!PICTURE_TYPES.has(part.mediaType)) return textPart(`(a picture of type ${part.mediaType} is not shown)`);
  const typed = { ...part, mediaType: readMediaType(part.base64) ?? part.mediaType };
  return isSound(typed) ? typed : textPart('(a picture that cannot be read is not shown)');
}

/** Providers accept only PDFs as files, so plain texts are sent as text. */
function sendFile(
  part: Extract<ContentPart, { kind: 'file' | 'file_url' }>,
  inputs: NonNullable<ModelAbilities['inputs']>,
): SentPart {
  const what = `a file of type ${part.mediaType}`;
  if (part.kind === 'file' && part.mediaType.startsWith('text/')) {
    const text = Buffer.from(part.base64, 'base64').toString('utf8');
    return textPart(isBlank(text) ? `(${what} is empty)` : text.toWellFormed());
  }
  if (part.mediaType !== PDF) return textPart(`(${what} is not shown)`);
  if (!inputs.includes('pdf')) return textPart(`(${what} is not shown, because the model reads none)`);
  if (part.kind === 'file' && part.base64 === '') return textPart(`(${what} is empty)`);
  if (isSound(part)) return part;
  return textPart(part.kind === 'file' ? `(${what} cannot be read and is not shown)` : UNREACHABLE_FILE);
}
