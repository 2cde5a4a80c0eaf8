import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { parseInput } from '../../../domain/parse.ts';
import { joinPartTexts } from '../../../domain/parts.ts';
import type { InputPart } from '../../client/index.ts';
import type { AgUiMessage } from './events.ts';

const partSchema = z.looseObject({ type: z.string() });
const contentSchema = z.union([z.string(), boundedList(partSchema, 1_000)]);

type ContentPart = z.output<typeof partSchema>;

/** Reads the text of a message. Every turn has a text, so a message of files alone gets one that names their types. */
export function readMessageText(message: AgUiMessage, index: number): string {
  const content = readContent(message, index);
  if (typeof content === 'string') return content;
  const texts = content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  const text = joinPartTexts(texts);
  return text === '' && content.length > 0 && texts.length === 0
    ? `[${content.map(({ type }) => type).join(', ')}]`
    : text;
}

/** Reads images and files of a user message. @throws invalid_input for audio and video */
export function readMessageFiles(message: AgUiMessage, index: number): InputPart[] {
  const content = readContent(message, index);
  if (typeof content === 'string') return [];
  return content.flatMap((part, at) =>
    part.type === 'text' ? [] : [readFile(part, `messages[${index}].content[${at}]`)],
  );
}

function readContent(message: AgUiMessage, index: number): string | ContentPart[] {
  return parseInput(contentSchema, message['content'] ?? '', `messages[${index}].content`);
}

const FILE_URL = /^(?:https?:\/\/|data:[\w.+-]+\/[\w.+-][^,]*;base64,)/;
const urlTextSchema = z
  .string()
  .regex(FILE_URL, 'expected an address that begins with https:, http: or data: with base64');
const dataSchema = z.looseObject({ type: z.literal('data'), value: z.string(), mimeType: z.string() });
const urlSchema = z.looseObject({ type: z.literal('url'), value: urlTextSchema, mimeType: z.string().nullish() });
const sourceSchema = z.discriminatedUnion('type', [dataSchema, urlSchema], 'expected a source with data or a url');
/** Form of files before AG-UI had a type for each kind of content. */
const binarySchema = z.looseObject({
  mimeType: z.string(),
  data: z.string().nullish(),
  url: urlTextSchema.nullish(),
  filename: z.string().nullish(),
});

function readFile(part: ContentPart, field: string): InputPart {
  switch (part.type) {
    case 'image':
    case 'document': {
      const source = parseInput(sourceSchema, part['source'], `${field}.source`);
      const name = readName(part['metadata']);
      return source.type === 'data'
        ? { ...typeOf(source.mimeType), data: source.value, ...name }
        : { ...typeOf(source.mimeType ?? (part.type === 'image' ? 'image/png' : PDF)), url: source.value, ...name };
    }
    case 'binary': {
      const { mimeType, data, url, filename } = parseInput(binarySchema, part, field);
      const about = { ...typeOf(mimeType), ...(filename && { name: filename }) };
      if (typeof data === 'string') return { ...about, data };
      if (typeof url === 'string') return { ...about, url };
      throw fieldError('invalid_input', field, 'expected `data` or `url`, because turnfold has no file for an id');
    }
    default:
      throw fieldError('invalid_input', field, `expected text, images and documents, and got "${part.type}"`);
  }
}

const PDF = 'application/pdf';

function typeOf(mediaType: string): { readonly type: 'image' | 'file'; readonly mediaType: string } {
  return { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType };
}

const namedSchema = z.looseObject({ filename: z.string() });

function readName(metadata: unknown): { readonly name?: string } {
  const { data } = namedSchema.safeParse(metadata);
  return data === undefined ? {} : { name: data.filename };
}
