import { z } from 'zod';
import { jsonSchema } from '../domain/message.ts';
import { encodeBytes, readParts } from '../domain/parts.ts';

/** More images and files than a provider takes in one request. */
const MAX_INPUT_PARTS = 1_000;

/** An image or a file beside the text of a turn. Parts in the formats of Anthropic and OpenAI are taken, too. */
export type InputPart =
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'image'; readonly data: Uint8Array | string; readonly mediaType: string }
  | { readonly type: 'file'; readonly url: string; readonly mediaType?: string; readonly name?: string }
  | { readonly type: 'file'; readonly data: Uint8Array | string; readonly mediaType: string; readonly name?: string }
  | {
      readonly type: 'image' | 'file';
      /** Name of the content for `loadContent` of the workers. turnfold does not store the content itself. */
      readonly reference: string;
      readonly mediaType: string;
      /** Size of the content in bytes. */
      readonly bytes?: number;
      readonly name?: string;
    }
  | { readonly type: string; readonly [field: string]: unknown };

const isShortList = (value: unknown): boolean => Array.isArray(value) && value.length <= MAX_INPUT_PARTS;

export const inputPartsSchema = z
  .unknown()
  .refine(isShortList, `expected a list of at most ${MAX_INPUT_PARTS} images and files`)
  .transform((parts): unknown => (parts as readonly unknown[]).map(encodeBytes))
  .pipe(jsonSchema)
  .transform((parts) => parts as InputPart[])
  .refine(
    (parts) => readParts({ content: '', parts }).every(({ kind }) => kind !== 'text' && kind !== 'other'),
    'expected images and files, such as {type: "image", url} or {type: "file", data, mediaType}. Texts belong in `input`',
  )
  .meta({
    description:
      'Images, PDFs and text files, as {type, url}, {type, data, mediaType} or {type, reference, mediaType}.',
  });
