import { z } from 'zod';
import { jsonSchema } from '../../domain/message.ts';
import { encodeBytes, readParts } from '../../domain/parts.ts';

/** More images and files than a provider takes in one request. */
const MAX_INPUT_PARTS = 1_000;

/** An image or a file beside the text of a turn. Parts in the formats of Anthropic and OpenAI are taken, too. */
export type InputPart = WebPart | StoredPart | ReferencedPart | ForeignPart;

/** An image or a file in the format of Anthropic or OpenAI. */
export interface ForeignPart {
  /** Type of the part in that format, such as `image_url` or `document`. */
  readonly type: string;
  readonly [field: string]: unknown;
}

/** An image or a file by its URL, which the provider reads. */
export interface WebPart {
  /** `image`, or `file` for a PDF. */
  readonly type: 'image' | 'file';
  /** Address of the content, http or https. */
  readonly url: string;
  /** Name of the file, which the model may see. */
  readonly name?: string;
}

/** An image or a file by its bytes, which are stored with the message. */
export interface StoredPart {
  /** `image`, or `file` for a PDF or a text file. */
  readonly type: 'image' | 'file';
  /** The bytes, as such or as base64. */
  readonly data: Uint8Array | string;
  /** Type of the content, such as `image/png` or `application/pdf`. */
  readonly mediaType: string;
  /** Name of the file, which the model may see. */
  readonly name?: string;
}

/** An image or a file that is kept elsewhere. turnfold stores only its name. */
export interface ReferencedPart {
  /** `image`, or `file` for a PDF or a text file. */
  readonly type: 'image' | 'file';
  /** Name of the content for `loadContent` of the agent. */
  readonly reference: string;
  /** Type of the content, such as `image/png` or `application/pdf`. */
  readonly mediaType: string;
  /** Size of the content in bytes (0). */
  readonly bytes?: number;
  /** Name of the file, which the model may see. */
  readonly name?: string;
}

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
