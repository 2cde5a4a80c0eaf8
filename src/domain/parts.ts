import { z } from 'zod';
import type { Message } from './message.ts';

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

/** A part as files and services write it: our form, OpenAI's two, Anthropic's. */
const givenSchema = z.union([
  z
    .object({ type: z.enum(['text', 'input_text', 'output_text']), text: z.string() })
    .transform(({ text }) => textPart(text)),
  z
    .object({ type: z.literal('image_url'), image_url: z.union([z.string(), z.object({ url: z.string() })]) })
    .transform(({ image_url }) => imagePart(typeof image_url === 'string' ? image_url : image_url.url)),
  z
    .object({ type: z.literal('input_image'), image_url: z.string() })
    .transform(({ image_url }) => imagePart(image_url)),
  z
    .object({
      type: z.literal('image'),
      source: z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    })
    .transform(({ source }): Part => ({ kind: 'image', mediaType: source.media_type, base64: source.data })),
  z
    .object({ type: z.literal('image'), source: z.object({ type: z.literal('url'), url: z.string() }) })
    .transform(({ source }) => imagePart(source.url)),
  z.looseObject({ type: z.string() }).transform((given): Part => ({ kind: 'other', type: given.type, given })),
  z.unknown().transform((given): Part => ({ kind: 'other', type: 'unknown', given })),
]);

/** What a message holds, in order. Its text stands first where `parts` does not name it. */
export function readParts({ content, parts = [] }: Pick<Message, 'content' | 'parts'>): Part[] {
  const read = parts.map((part) => givenSchema.parse(part));
  const hasText = read.some((part) => part.kind === 'text');
  return hasText || content === '' ? read : [textPart(content), ...read];
}

function textPart(text: string): Part {
  return { kind: 'text', text };
}

function imagePart(url: string): Part {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  return mediaType === undefined || base64 === undefined
    ? { kind: 'image_url', url }
    : { kind: 'image', mediaType, base64 };
}
