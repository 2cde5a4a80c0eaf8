import { readParts } from '../domain/parts.ts';
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

/** Tokens that the role and the delimiters of a message take. */
const WRAPPER_TOKENS = 4;

/** Counts the tokens of a message: text, images, role and delimiters. Does not block the event loop. */
export async function countMessage(counter: Pick<BpeTokenCounter, 'count'>, message: CountedMessage): Promise<number> {
  const { text, pictures } = readContent(message);
  return (await counter.count(text)) + pictures.length * PICTURE_TOKENS + WRAPPER_TOKENS;
}

/** Like `countMessage`, but synchronous. Use it only for messages of at most a few thousand tokens. */
export function countMessageSync(counter: Pick<BpeTokenCounter, 'countSync'>, message: CountedMessage): number {
  const { text, pictures } = readContent(message);
  return counter.countSync(text) + pictures.length * PICTURE_TOKENS + WRAPPER_TOKENS;
}

/** Counts the tokens of all images in these messages. */
export function countPictures(messages: readonly CountedMessage[]): number {
  return messages.reduce((sum, message) => sum + readContent(message).pictures.length * PICTURE_TOKENS, 0);
}

/** Counts the bytes of a message: the UTF-8 bytes of its text, and its images in the form in which they are sent. */
export function bytesOfMessage(message: CountedMessage): number {
  const { text, pictures } = readContent(message);
  return pictures.reduce((sum, picture) => sum + picture.length, Buffer.byteLength(text));
}

/** The parts of a message that are counted. */
interface CountedContent {
  /** Text of the message and its parts, then the name and arguments of each tool call, without separators. */
  readonly text: string;
  /** Images as base64 or URLs, in which every character is one byte. */
  readonly pictures: readonly string[];
}

function readContent({ content, toolCalls = [], parts = [] }: CountedMessage): CountedContent {
  const calls = toolCalls.map((call) => call.name + call.arguments).join('');
  if (parts.length === 0) return { text: content + calls, pictures: [] };
  const read = readParts({ content, parts: [...parts] });
  const texts = read.map((part) => (part.kind === 'text' ? part.text : ''));
  const pictures = read.flatMap((part) => {
    if (part.kind === 'image') return [part.base64];
    return part.kind === 'image_url' ? [part.url] : [];
  });
  return { text: texts.join('') + calls, pictures };
}
