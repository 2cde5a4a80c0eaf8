import type { PictureFormula } from '../../domain/model.ts';
import { type ContentPart, readParts } from '../../domain/parts.ts';
import { countPicture, PICTURE_TOKENS } from './picture-tokens.ts';
import type { BpeTokenCounter } from './token-counter.ts';

interface CountedMessage {
  readonly content: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[] | undefined;
  readonly parts?: readonly unknown[] | undefined;
}

/** Tokens of a PDF page: its text (1,500 to 3,000 tokens at Anthropic), and a picture of the page. */
const PAGE_TOKENS = 3_000 + PICTURE_TOKENS;

/**
 * Bytes per page of a PDF whose pages cannot be counted. The provider's count replaces this estimate after a request.
 */
const PAGE_BYTES = 50_000;
const UNKNOWN_PAGES = 10;

const WRAPPER_TOKENS = 4;

/** @param formula tokens of images. Default: a formula that suits most providers */
export async function countMessage(
  counter: Pick<BpeTokenCounter, 'count'>,
  message: CountedMessage,
  formula?: PictureFormula,
): Promise<number> {
  const { text, media } = readContent(message);
  return (await counter.count(text)) + sumTokens(media, formula) + WRAPPER_TOKENS;
}

/** Blocks the event loop, so use it only for messages of at most a few thousand tokens. */
export function countMessageSync(
  counter: Pick<BpeTokenCounter, 'countSync'>,
  message: CountedMessage,
  formula?: PictureFormula,
): number {
  const { text, media } = readContent(message);
  return counter.countSync(text) + sumTokens(media, formula) + WRAPPER_TOKENS;
}

export function countPictures(messages: readonly CountedMessage[], formula: PictureFormula): number {
  let tokens = 0;
  for (const message of messages)
    if (message.parts !== undefined) tokens += sumTokens(readContent(message).media, formula);
  return tokens;
}

function sumTokens(media: readonly ContentPart[], formula: PictureFormula | undefined): number {
  return media.reduce((sum, part) => sum + countMedia(part, formula), 0);
}

/** UTF-8 bytes of the text and of the tool calls, and of images and files as they are sent. */
export function bytesOfMessage(message: CountedMessage): number {
  const { text, media } = readContent(message);
  return media.reduce((sum, part) => sum + bytesOfMedia(part), Buffer.byteLength(text));
}

interface CountedContent {
  /** Joined without separators. */
  readonly text: string;
  readonly media: readonly ContentPart[];
}

function readContent({ content, toolCalls = [], parts = [] }: CountedMessage): CountedContent {
  const calls = toolCalls.map((call) => call.name + call.arguments).join('');
  if (parts.length === 0) return { text: content + calls, media: [] };
  const read = readParts({ content, parts: [...parts] });
  const texts = read.map((part) => (part.kind === 'text' ? part.text : readTextFile(part)));
  return { text: texts.join('') + calls, media: read.filter((part) => !isTextFile(part)) };
}

type TextFile = Extract<ContentPart, { kind: 'file' }>;

function isTextFile(part: ContentPart): part is TextFile {
  return part.kind === 'file' && part.mediaType.startsWith('text/');
}

function readTextFile(part: ContentPart): string {
  return isTextFile(part) ? Buffer.from(part.base64, 'base64').toString('utf8') : '';
}

function countMedia(part: ContentPart, formula: PictureFormula | undefined): number {
  switch (part.kind) {
    case 'image':
    case 'image_url':
      return countPicture(part, formula);
    case 'file':
      return countPages(part.base64) * PAGE_TOKENS;
    case 'file_url':
      return UNKNOWN_PAGES * PAGE_TOKENS;
    case 'reference': {
      if (part.mediaType.startsWith('image/')) return countPicture({ kind: 'image_url' }, formula);
      return PAGE_TOKENS * (part.bytes === 0 ? UNKNOWN_PAGES : Math.ceil(part.bytes / PAGE_BYTES));
    }
    default:
      return 0;
  }
}

/** Every character of base64 data or a URL is one byte. */
function bytesOfMedia(part: ContentPart): number {
  switch (part.kind) {
    case 'image':
    case 'file':
      return part.base64.length;
    case 'image_url':
    case 'file_url':
      return part.url.length;
    case 'reference':
      return Math.ceil((part.bytes * 4) / 3);
    default:
      return 0;
  }
}

/** Counts the pages of a PDF. If compressed objects hide all pages, their number is estimated by the size. */
function countPages(base64: string): number {
  const bytes = Buffer.from(base64, 'base64');
  const found = bytes.toString('latin1').match(/\/Type\s{0,9}\/Page\b/g);
  return found?.length ?? Math.ceil(bytes.length / PAGE_BYTES);
}
