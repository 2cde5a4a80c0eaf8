import type { Message } from './message.ts';
import { isMapping } from './parse.ts';

/** Image or file that turnfold does not store. */
export interface ContentReference {
  /** Name by which `loadContent` finds the content, such as a key in an object store. */
  readonly reference: string;
  /** E.g. `image/png` or `application/pdf`. */
  readonly mediaType: string;
  /** Bytes that count towards the size of a request (default 0). */
  readonly bytes: number;
  readonly name?: string;
}

export type ContentPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'image_url'; readonly url: string }
  | { readonly kind: 'file'; readonly mediaType: string; readonly base64: string; readonly name?: string }
  | { readonly kind: 'file_url'; readonly mediaType: string; readonly url: string; readonly name?: string }
  /** Content whose bytes `loadContent` of the workers returns. */
  | (ContentReference & { readonly kind: 'reference' })
  | { readonly kind: 'other'; readonly type: string; readonly given: unknown };

/** Parameters between media type and encoding are ignored. */
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,(.*)$/s;

/** The plain text comes first, unless `parts` already contains it. */
export function readParts({ content, parts = [] }: Pick<Message, 'content' | 'parts'>): ContentPart[] {
  const read = parts.map(readPart);
  const hasText = read.some((part) => part.kind === 'text');
  return hasText || content === '' ? read : [textPart(content), ...read];
}

export function joinPartTexts(texts: readonly string[]): string {
  return texts.reduce((before, after) => {
    // A provider may split a text before a full stop. A word such as `.env` also begins with a full stop.
    const isApart = before === '' || after === '' || /\s$/.test(before) || /^(?:\s|[.,;:!?)\]]+(?:\s|$))/.test(after);
    return isApart ? before + after : `${before}\n${after}`;
  }, '');
}

/** Without a schema, because a message of 1 MB may have 300,000 parts. A union of schemas would take a second. */
export function readPart(given: unknown): ContentPart {
  if (!isMapping(given) || typeof given['type'] !== 'string') return { kind: 'other', type: 'unknown', given };
  const { type, text } = given;
  if (TEXT_TYPES.has(type) && typeof text === 'string') return textPart(text);
  return readReference(given) ?? readMedia(type, given) ?? { kind: 'other', type, given };
}

function readMedia(type: string, given: Mapping): ContentPart | undefined {
  switch (type) {
    case 'image':
      return readAnthropicImage(given['source']) ?? readOwn(given, 'image/png');
    case 'document':
      return readAnthropicDocument(given['source'], given['title']);
    case 'file':
      return isMapping(given['file']) ? readOpenAiFile(given['file']) : readOwn(given, PDF);
    case 'input_file':
      return readOpenAiFile(given);
    default:
      return readOpenAiImage(type, given['image_url']);
  }
}

type Mapping = Readonly<Record<string, unknown>>;

export const PDF = 'application/pdf';

function readReference({ type, reference, mediaType, bytes, name }: Mapping): ContentPart | undefined {
  if ((type !== 'image' && type !== 'file') || typeof reference !== 'string') return undefined;
  const media = typeof mediaType === 'string' ? mediaType : type === 'file' ? PDF : 'image/png';
  const size = typeof bytes === 'number' && bytes > 0 ? bytes : 0;
  return { kind: 'reference', reference, mediaType: media, bytes: size, ...nameOf(name) };
}

/** Reads a part of the form `{type, url}` or `{type, data, mediaType}`. */
function readOwn({ type, url, data, mediaType, name }: Mapping, usual: string): ContentPart | undefined {
  const media = typeof mediaType === 'string' ? mediaType : usual;
  if (typeof url === 'string') return type === 'image' ? imagePart(url) : filePart(url, media, name);
  if (typeof data !== 'string') return undefined;
  return type === 'image'
    ? { kind: 'image', mediaType: media, base64: data }
    : { kind: 'file', mediaType: media, base64: data, ...nameOf(name) };
}

function readOpenAiFile({ file_data: data, file_url: url, filename }: Mapping): ContentPart | undefined {
  const given = typeof data === 'string' ? data : url;
  return typeof given === 'string' ? filePart(given, PDF, filename) : undefined;
}

function readAnthropicDocument(source: unknown, title: unknown): ContentPart | undefined {
  if (!isMapping(source)) return undefined;
  const { type, media_type: mediaType, data, url } = source;
  if (type === 'url' && typeof url === 'string') return filePart(url, PDF, title);
  if (typeof mediaType !== 'string' || typeof data !== 'string') return undefined;
  if (type === 'text') return textPart(data);
  return type === 'base64' ? { kind: 'file', mediaType, base64: data, ...nameOf(title) } : undefined;
}

function readOpenAiImage(type: string, image: unknown): ContentPart | undefined {
  if (type !== 'image_url' && type !== 'input_image') return undefined;
  const url = type === 'image_url' && isMapping(image) ? image['url'] : image;
  return typeof url === 'string' ? imagePart(url) : undefined;
}

function readAnthropicImage(source: unknown): ContentPart | undefined {
  if (!isMapping(source)) return undefined;
  const { type, media_type: mediaType, data, url } = source;
  if (type === 'base64' && typeof mediaType === 'string' && typeof data === 'string') {
    return { kind: 'image', mediaType, base64: data };
  }
  return type === 'url' && typeof url === 'string' ? imagePart(url) : undefined;
}

const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text']);

function textPart(text: string): ContentPart {
  return { kind: 'text', text };
}

function imagePart(url: string): ContentPart {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  return mediaType === undefined || base64 === undefined
    ? { kind: 'image_url', url }
    : { kind: 'image', mediaType, base64 };
}

function filePart(url: string, usual: string, name: unknown): ContentPart {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  return mediaType === undefined || base64 === undefined
    ? { kind: 'file_url', mediaType: usual, url, ...nameOf(name) }
    : { kind: 'file', mediaType, base64, ...nameOf(name) };
}

function nameOf(name: unknown): { readonly name?: string } {
  return typeof name === 'string' && name !== '' ? { name } : {};
}

/** `fromCharCode` accepts a limited number of arguments. */
const CHUNK_BYTES = 32_768;

/** Replaces the bytes of a part by base64, without Node functions, because browsers run this code, too. */
export function encodeBytes(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('data' in part) || !(part.data instanceof Uint8Array)) return part;
  const { data } = part;
  let characters = '';
  for (let start = 0; start < data.length; start += CHUNK_BYTES) {
    characters += String.fromCharCode(...data.subarray(start, start + CHUNK_BYTES));
  }
  return { ...part, data: btoa(characters) };
}
