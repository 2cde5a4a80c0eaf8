import { readParts } from '../domain/parts.ts';
import type { BpeTokenCounter } from './token-counter.ts';

/** What counts of a message. */
export interface CountedMessage {
  readonly content: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[] | undefined;
  readonly parts?: readonly unknown[] | undefined;
}

/**
 * Of a picture, whatever its size: providers scale it down to about so many, and tell nobody before (Anthropic 1,568, OpenAI
 * 765 to 1,536).
 */
export const PICTURE_TOKENS = 1_600;

/** What a provider adds around each message: role and delimiters. */
const WRAPPER_TOKENS = 4;

/** Tokens of a message: its text's, its pictures', and four for its role and delimiters. Does not hold the event loop. */
export async function countMessage(counter: Pick<BpeTokenCounter, 'count'>, message: CountedMessage): Promise<number> {
  const { text, pictures } = readSaid(message);
  return (await counter.count(text)) + pictures.length * PICTURE_TOKENS + WRAPPER_TOKENS;
}

/** The same at once, for a message of at most some thousand tokens. */
export function countMessageSync(counter: Pick<BpeTokenCounter, 'countSync'>, message: CountedMessage): number {
  const { text, pictures } = readSaid(message);
  return counter.countSync(text) + pictures.length * PICTURE_TOKENS + WRAPPER_TOKENS;
}

/** What the pictures of messages take in these counts. */
export function countPictures(messages: readonly CountedMessage[]): number {
  return messages.reduce((sum, message) => sum + readSaid(message).pictures.length * PICTURE_TOKENS, 0);
}

/** UTF-8 bytes of the same text, and of pictures as they are sent. */
export function bytesOfMessage(message: CountedMessage): number {
  const { text, pictures } = readSaid(message);
  return pictures.reduce((sum, picture) => sum + picture.length, Buffer.byteLength(text));
}

interface Said {
  /** content, or the text that stands in parts; then of each call its name and its arguments, with nothing between */
  readonly text: string;
  /** each as base64 or as its address: both have only single bytes */
  readonly pictures: readonly string[];
}

function readSaid({ content, toolCalls = [], parts = [] }: CountedMessage): Said {
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
