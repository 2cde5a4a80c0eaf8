import type { PictureFormula } from '../domain/model.ts';
import { type Part, readParts } from '../domain/parts.ts';
import { countPicture } from './picture-tokens.ts';
import type { BpeTokenCounter } from './token-counter.ts';

/** The parts of a message that are counted. */
export interface CountedMessage {
  readonly content: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[] | undefined;
  readonly parts?: readonly unknown[] | undefined;
}

/** Tokens that the role and the delimiters of a message take. */
const WRAPPER_TOKENS = 4;

/**
 * Counts the tokens of a message: text, images, role and delimiters. Does not block the event loop.
 * @param formula how the provider counts images. Without it, a formula that suits most providers
 */
export async function countMessage(
  counter: Pick<BpeTokenCounter, 'count'>,
  message: CountedMessage,
  formula?: PictureFormula,
): Promise<number> {
  const { text, pictures } = readContent(message);
  return (await counter.count(text)) + sumPictures(pictures, formula) + WRAPPER_TOKENS;
}

/** Like `countMessage`, but synchronous. Use it only for messages of at most a few thousand tokens. */
export function countMessageSync(
  counter: Pick<BpeTokenCounter, 'countSync'>,
  message: CountedMessage,
  formula?: PictureFormula,
): number {
  const { text, pictures } = readContent(message);
  return counter.countSync(text) + sumPictures(pictures, formula) + WRAPPER_TOKENS;
}

/** Counts the tokens of all images in these messages. */
export function countPictures(messages: readonly CountedMessage[], formula: PictureFormula): number {
  return messages.reduce((sum, message) => sum + sumPictures(readContent(message).pictures, formula), 0);
}

function sumPictures(pictures: readonly SentPicture[], formula: PictureFormula | undefined): number {
  return pictures.reduce((sum, picture) => sum + countPicture(picture, formula), 0);
}

/** Counts the bytes of a message: the UTF-8 bytes of its text, and its images in the form in which they are sent. */
export function bytesOfMessage(message: CountedMessage): number {
  const { text, pictures } = readContent(message);
  return pictures.reduce(
    (sum, picture) => sum + (picture.kind === 'image' ? picture.base64 : picture.url).length,
    Buffer.byteLength(text),
  );
}

/** The parts of a message that are counted. */
interface CountedContent {
  /** Text of the message and its parts, then the name and arguments of each tool call, without separators. */
  readonly text: string;
  /** Images as base64 or URLs, in which every character is one byte. */
  readonly pictures: readonly SentPicture[];
}

type SentPicture = Extract<Part, { kind: 'image' | 'image_url' }>;

function readContent({ content, toolCalls = [], parts = [] }: CountedMessage): CountedContent {
  const calls = toolCalls.map((call) => call.name + call.arguments).join('');
  if (parts.length === 0) return { text: content + calls, pictures: [] };
  const read = readParts({ content, parts: [...parts] });
  const texts = read.map((part) => (part.kind === 'text' ? part.text : ''));
  const pictures = read.filter((part) => part.kind === 'image' || part.kind === 'image_url');
  return { text: texts.join('') + calls, pictures };
}
