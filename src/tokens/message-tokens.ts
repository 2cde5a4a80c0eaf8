import { type Part, readParts } from '../domain/parts.ts';
import type { BpeTokenCounter } from './token-counter.ts';

/** The parts of a message that are counted. */
export interface CountedMessage {
  readonly content: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[] | undefined;
  readonly parts?: readonly unknown[] | undefined;
}

/**
 * Tokens that turnfold assumes for an image of any size. Providers scale images down to about this size and do not
 * announce the exact count (Anthropic 1,568, OpenAI 765 to 1,536).
 */
export const PICTURE_TOKENS = 1_600;

/** Tokens that turnfold assumes for a page of a PDF: its text (Anthropic 1,500 to 3,000), and a picture of it. */
const PAGE_TOKENS = 3_000 + PICTURE_TOKENS;

/**
 * Bytes of a page, and pages of a PDF by its URL, that turnfold assumes if it cannot count the pages. The provider's own
 * count replaces this after the first request.
 */
const PAGE_BYTES = 50_000;
const UNKNOWN_PAGES = 10;

/** Tokens that the role and the delimiters of a message take. */
const WRAPPER_TOKENS = 4;

/** Counts the tokens of a message: text, images, role and delimiters. Does not block the event loop. */
export async function countMessage(counter: Pick<BpeTokenCounter, 'count'>, message: CountedMessage): Promise<number> {
  const { text, pictures } = readContent(message);
  return (await counter.count(text)) + sumTokens(pictures) + WRAPPER_TOKENS;
}

/** Like `countMessage`, but synchronous. Use it only for messages of at most a few thousand tokens. */
export function countMessageSync(counter: Pick<BpeTokenCounter, 'countSync'>, message: CountedMessage): number {
  const { text, pictures } = readContent(message);
  return counter.countSync(text) + sumTokens(pictures) + WRAPPER_TOKENS;
}

/** Counts the tokens of all images and files in these messages. */
export function countPictures(messages: readonly CountedMessage[]): number {
  return messages.reduce((sum, message) => sum + sumTokens(readContent(message).pictures), 0);
}

/** Counts the bytes of a message: the UTF-8 bytes of its text, and its images in the form in which they are sent. */
export function bytesOfMessage(message: CountedMessage): number {
  const { text, pictures } = readContent(message);
  return pictures.reduce((sum, picture) => sum + picture.bytes, Buffer.byteLength(text));
}

/** The parts of a message that are counted. */
interface CountedContent {
  /** Text of the message and its parts, then the name and arguments of each tool call, without separators. */
  readonly text: string;
  /** Images and files. */
  readonly pictures: readonly Picture[];
}

interface Picture {
  readonly tokens: number;
  /** Bytes of the form in which the picture is sent: base64 or a URL, in which every character is one byte. */
  readonly bytes: number;
}

function sumTokens(pictures: readonly Picture[]): number {
  return pictures.reduce((sum, { tokens }) => sum + tokens, 0);
}

function readContent({ content, toolCalls = [], parts = [] }: CountedMessage): CountedContent {
  const calls = toolCalls.map((call) => call.name + call.arguments).join('');
  if (parts.length === 0) return { text: content + calls, pictures: [] };
  const read = readParts({ content, parts: [...parts] });
  const texts = read.map((part) => (part.kind === 'text' ? part.text : readTextFile(part)));
  return { text: texts.join('') + calls, pictures: read.flatMap(readPicture) };
}

/** Returns the text of a text file, which is sent as text. */
function readTextFile(part: Part): string {
  const isText = part.kind === 'file' && part.mediaType.startsWith('text/');
  return isText ? Buffer.from(part.base64, 'base64').toString('utf8') : '';
}

function readPicture(part: Part): Picture[] {
  switch (part.kind) {
    case 'image':
      return [{ tokens: PICTURE_TOKENS, bytes: part.base64.length }];
    case 'image_url':
      return [{ tokens: PICTURE_TOKENS, bytes: part.url.length }];
    case 'file':
      if (part.mediaType.startsWith('text/')) return [];
      return [{ tokens: countPages(part.base64) * PAGE_TOKENS, bytes: part.base64.length }];
    case 'file_url':
      return [{ tokens: UNKNOWN_PAGES * PAGE_TOKENS, bytes: part.url.length }];
    case 'reference': {
      const pages = part.bytes === 0 ? UNKNOWN_PAGES : Math.ceil(part.bytes / PAGE_BYTES);
      const tokens = part.mediaType.startsWith('image/') ? PICTURE_TOKENS : pages * PAGE_TOKENS;
      return [{ tokens, bytes: Math.ceil((part.bytes * 4) / 3) }];
    }
    default:
      return [];
  }
}

/** Counts the page objects of a PDF. A PDF whose objects are compressed hides them. */
function countPages(base64: string): number {
  const bytes = Buffer.from(base64, 'base64');
  const found = bytes.toString('latin1').match(/\/Type\s{0,9}\/Page\b/g);
  return found?.length ?? Math.ceil(bytes.length / PAGE_BYTES);
}
