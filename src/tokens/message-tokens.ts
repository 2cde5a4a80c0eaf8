import { readParts } from '../domain/parts.ts';
import type { BpeTokenCounter } from './token-counter.ts';

/** Parts of a message that are counted. */
export interface CountedMessage {
  readonly content: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[] | undefined;
  readonly parts?: readonly unknown[] | undefined;
}

/**
 * Tokens of an image of any size. Providers scale images down to about this size and do not report it in advance
 * (Anthropic 1,568, OpenAI 765 to 1,536).
 */
export const PICTURE_TOKENS = 1_600;

/** Tokens of role and delimiters around each message. */
const WRAPPER_TOKENS = 4;

/** Counts the tokens of a message: its text, its images, and its role and delimiters. Does not block the event loop. */
export async function countMessage(counter: Pick<BpeTokenCounter, 'count'>, message: CountedMessage): Promise<number> {
  const { text, pictures } = readContent(message);
  return (await counter.count(text)) + pictures.length * PICTURE_TOKENS + WRAPPER_TOKENS;
}

/** `countMessage` at once, for a message of at most some thousand tokens. */
export function countMessageSync(counter: Pick<BpeTokenCounter, 'countSync'>, message: CountedMessage): number {
  const { text, pictures } = readContent(message);
  return counter.countSync(text) + pictures.length * PICTURE_TOKENS + WRAPPER_TOKENS;
}

/** Counts the tokens of the images of messages. */
export function countPictures(messages: readonly CountedMessage[]): number {
  return messages.reduce((sum, message) => sum + readContent(message).pictures.length * PICTURE_TOKENS, 0);
}

/** Counts the UTF-8 bytes of a message's text, and of its images in the form in which they are sent. */
export function bytesOfMessage(message: CountedMessage): number {
  const { text, pictures } = readContent(message);
  return pictures.reduce((sum, picture) => sum + picture.length, Buffer.byteLength(text));
}

/** Content of a message as it is counted. */
interface CountedContent {
  /** Text of the message and its parts, then name and arguments of each call, without separators. */
  readonly text: string;
  /** Images as base64 or address. Both consist of single-byte characters. */
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
