import type { Message } from './message.ts';
import { isMapping } from './parse.ts';

/** One part of a message whose content is more than text. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** a picture by its bytes */
  | { readonly kind: 'image'; readonly mediaType: string; readonly base64: string }
  /** a picture by its address */
  | { readonly kind: 'image_url'; readonly url: string }
  /** a kind that no format of ours knows, as it was given */
  | { readonly kind: 'other'; readonly type: string; readonly given: unknown };

/** Parameters between type and encoding say nothing of a picture. */
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,(.*)$/s;

/** What a message holds, in order. Its text stands first where `parts` does not name it. */
export function readParts({ content, parts = [] }: Pick<Message, 'content' | 'parts'>): Part[] {
  const read = parts.map(readPart);
  const hasText = read.some((part) => part.kind === 'text');
  return hasText || content === '' ? read : [textPart(content), ...read];
}

/**
 * A part as files and services write it: our form, OpenAI's two, Anthropic's. Read by hand, since a message of a megabyte may
 * have 300,000 parts: a union of schemas tries each form for each part, and takes a second.
 */
function readPart(given: unknown): Part {
  if (!isMapping(given) || typeof given['type'] !== 'string') return { kind: 'other', type: 'unknown', given };
  const { type, text, image_url: image, source } = given;
  if (TEXT_TYPES.has(type) && typeof text === 'string') return textPart(text);
  if (type === 'image_url' || type === 'input_image') {
    const url = type === 'image_url' && isMapping(image) ? image['url'] : image;
    if (typeof url === 'string') return imagePart(url);
  }
  if (type === 'image' && isMapping(source)) {
    const { type: origin, media_type: mediaType, data, url } = source;
    if (origin === 'base64' && typeof mediaType === 'string' && typeof data === 'string')
      return { kind: 'image', mediaType, base64: data };
    if (origin === 'url' && typeof url === 'string') return imagePart(url);
  }
  return { kind: 'other', type, given };
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
