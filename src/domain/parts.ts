import type { Message } from './message.ts';
import { isMapping } from './parse.ts';

/** One part of a message with content besides text. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** An image by its bytes. */
  | { readonly kind: 'image'; readonly mediaType: string; readonly base64: string }
  /** An image by its address. */
  | { readonly kind: 'image_url'; readonly url: string }
  /** A part of an unknown kind, unchanged. */
  | { readonly kind: 'other'; readonly type: string; readonly given: unknown };

/** Matches a data URL. Parameters between type and encoding do not matter for an image. */
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,(.*)$/s;

/** Reads the content of a message, in order. The text comes first if `parts` does not contain it. */
export function readParts({ content, parts = [] }: Pick<Message, 'content' | 'parts'>): Part[] {
  const read = parts.map(readPart);
  const hasText = read.some((part) => part.kind === 'text');
  return hasText || content === '' ? read : [textPart(content), ...read];
}

/**
 * Reads a part in our own form, in OpenAI's two forms or in Anthropic's form. No schema is used, because a message of a
 * megabyte may have 300,000 parts. A union of schemas would try every form for every part, which takes a second.
 */
function readPart(given: unknown): Part {
  if (!isMapping(given) || typeof given['type'] !== 'string') return { kind: 'other', type: 'unknown', given };
  const { type, text } = given;
  if (TEXT_TYPES.has(type) && typeof text === 'string') return textPart(text);
  const image = type === 'image' ? readAnthropicImage(given['source']) : readOpenAiImage(type, given['image_url']);
  return image ?? { kind: 'other', type, given };
}

function readOpenAiImage(type: string, image: unknown): Part | undefined {
  if (type !== 'image_url' && type !== 'input_image') return undefined;
  const url = type === 'image_url' && isMapping(image) ? image['url'] : image;
  return typeof url === 'string' ? imagePart(url) : undefined;
}

function readAnthropicImage(source: unknown): Part | undefined {
  if (!isMapping(source)) return undefined;
  const { type, media_type: mediaType, data, url } = source;
  if (type === 'base64' && typeof mediaType === 'string' && typeof data === 'string') {
    return { kind: 'image', mediaType, base64: data };
  }
  return type === 'url' && typeof url === 'string' ? imagePart(url) : undefined;
}

const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text']);

function textPart(text: string): Part {
  return { kind: 'text', text };
}

function imagePart(url: string): Part {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  return mediaType === undefined || base64 === undefined
    ? { kind: 'image_url', url }
    : { kind: 'image', mediaType, base64 };
}
