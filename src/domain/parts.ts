import type { Message } from './message.ts';
import { isMapping } from './parse.ts';

/** A part of a message that is not plain text. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** An image as base64 data. */
  | { readonly kind: 'image'; readonly mediaType: string; readonly base64: string }
  /** An image by its URL. */
  | { readonly kind: 'image_url'; readonly url: string }
  /** A part of an unknown type, unchanged. */
  | { readonly kind: 'other'; readonly type: string; readonly given: unknown };

/** Matches a data URL of an image. Parameters between media type and encoding are ignored. */
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,(.*)$/s;

/** Reads the parts of a message in order. The plain text comes first, unless `parts` already contains it. */
export function readParts({ content, parts = [] }: Pick<Message, 'content' | 'parts'>): Part[] {
  const read = parts.map(readPart);
  const hasText = read.some((part) => part.kind === 'text');
  return hasText || content === '' ? read : [textPart(content), ...read];
}

/**
 * Reads a part in turnfold's own format, one of OpenAI's two formats, or Anthropic's format. Written by hand, because a
 * message of 1 MB may have 300,000 parts. A union of schemas would try every format on each part, which takes a second.
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
