/**
 * The skeleton that all writers of other programs' formats share. A part of a message has one of five kinds, and each
 * format has a table (`PARTS`) with a function for each kind. So the compiler demands a row for a new kind or format.
 * The file of a format adds only how it arranges roles, calls and results.
 *
 * A message with only text is written as a string, because every reader takes one. Requests to providers are written
 * elsewhere (`wire/<format>/layout.ts`), because they obey the wire rules and leave out what a provider refuses.
 */

import { readJsonText } from '../../../domain/json-text.ts';
import type { Message, ToolCall } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import { readParts } from '../../../domain/parts.ts';
import { isThinking, type RawFormat, type RawItem, readRawItems } from '../../../domain/raw-items.ts';
import { dataUrl, type SentPart } from '../../parts.ts';
import type { WrittenFormat } from './written-formats.ts';

export type Written = Record<string, unknown>;

export interface HistoryWriter {
  /** Value of the option `--to`. */
  readonly name: WrittenFormat;
  readonly write: (messages: readonly Message[]) => unknown;
}

type PartTable = {
  readonly [Kind in SentPart['kind']]: (part: Extract<SentPart, { readonly kind: Kind }>) => Written;
};

/** LangChain writes parts as `openai-chat` does. */
const PARTS = {
  anthropic: {
    text: ({ text }) => ({ type: 'text', text }),
    image: (part) => ({ type: 'image', source: anthropicData(part) }),
    image_url: ({ url }) => ({ type: 'image', source: { type: 'url', url } }),
    file: (part) => ({ type: 'document', source: anthropicData(part), ...titleOf(part) }),
    file_url: (part) => ({ type: 'document', source: { type: 'url', url: part.url }, ...titleOf(part) }),
  },
  'openai-chat': {
    text: ({ text }) => ({ type: 'text', text }),
    image: (part) => ({ type: 'image_url', image_url: { url: dataUrl(part) } }),
    image_url: ({ url }) => ({ type: 'image_url', image_url: { url } }),
    file: (part) => ({ type: 'file', file: { file_data: dataUrl(part), ...filenameOf(part) } }),
    file_url: (part) => ({ type: 'file', file: { file_url: part.url, ...filenameOf(part) } }),
  },
  'openai-responses': {
    text: ({ text }) => ({ type: 'input_text', text }),
    image: (part) => ({ type: 'input_image', image_url: dataUrl(part) }),
    image_url: ({ url }) => ({ type: 'input_image', image_url: url }),
    file: (part) => ({ type: 'input_file', file_data: dataUrl(part), ...filenameOf(part) }),
    file_url: ({ url }) => ({ type: 'input_file', file_url: url }),
  },
  'ai-sdk': {
    text: ({ text }) => ({ type: 'text', text }),
    image: ({ base64, mediaType }) => ({ type: 'image', image: base64, mediaType }),
    image_url: ({ url }) => ({ type: 'image', image: url }),
    file: (part) => ({ type: 'file', data: part.base64, mediaType: part.mediaType, ...filenameOf(part) }),
    file_url: (part) => ({ type: 'file', data: part.url, mediaType: part.mediaType, ...filenameOf(part) }),
  },
  'ai-sdk result': {
    text: ({ text }) => ({ type: 'text', text }),
    image: ({ base64, mediaType }) => ({ type: 'media', data: base64, mediaType }),
    image_url: ({ url }) => ({ type: 'text', text: url }),
    file: ({ base64, mediaType }) => ({ type: 'media', data: base64, mediaType }),
    file_url: ({ url }) => ({ type: 'text', text: url }),
  },
} as const satisfies Readonly<Record<string, PartTable>>;

interface Named {
  readonly name?: string | undefined;
}

function titleOf({ name }: Named): Written {
  return name === undefined ? {} : { title: name };
}

function filenameOf({ name }: Named): Written {
  return name === undefined ? {} : { filename: name };
}

function anthropicData({ mediaType, base64 }: { readonly mediaType: string; readonly base64: string }): Written {
  return { type: 'base64', media_type: mediaType, data: base64 };
}

export function writeParts(message: Message, format: keyof typeof PARTS): Written[] {
  const table: PartTable = PARTS[format];
  return exportedParts(message).map((part) => (table[part.kind] as (part: SentPart) => Written)(part));
}

export function writeContent(message: Message, format: keyof typeof PARTS): string | Written[] {
  return isPlain(message) ? message.content : writeParts(message, format);
}

/** Contents that are stored elsewhere become a line of text. */
function exportedParts(message: Message): SentPart[] {
  return readParts(message).map((part): SentPart => {
    if (part.kind === 'reference') return { kind: 'text', text: `(${part.mediaType} ${part.name ?? part.reference})` };
    return part.kind === 'other' ? { kind: 'text', text: `(a part of type ${part.type})` } : part;
  });
}

export function isPlain(message: Message): boolean {
  return exportedParts(message).every(({ kind }) => kind === 'text');
}

export function inputOf({ arguments: text }: ToolCall): Written {
  const value = readJsonText(text);
  return isMapping(value) ? { ...value } : { input: value ?? text };
}

export function thinkingOf(message: Message, format: RawFormat): RawItem[] {
  const raw = readRawItems(message);
  return raw?.format === format ? raw.items.filter(isThinking) : [];
}

interface BlockWriters {
  readonly format: keyof typeof PARTS;
  readonly resultRole: 'tool' | 'user';
  readonly writeResult: (message: Message) => Written;
  readonly writeAnswer: (message: Message) => Written[];
}

/** Writes messages of a format with content blocks, where the results of parallel calls share a message. */
export function writeBlockMessages(
  messages: readonly Message[],
  { format, resultRole, writeResult, writeAnswer }: BlockWriters,
): Written[] {
  return joinResults(messages).map(([message, ...others]) => {
    switch (message.role) {
      case 'tool':
        return { role: resultRole, content: [message, ...others].map(writeResult) };
      case 'assistant':
        return { role: 'assistant', content: writeAnswer(message) };
      case 'system':
        return { role: 'system', content: message.content };
      default:
        return { role: 'user', content: writeContent(message, format) };
    }
  });
}

function joinResults(messages: readonly Message[]): [Message, ...Message[]][] {
  const groups: [Message, ...Message[]][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (message.role === 'tool' && last?.[0].role === 'tool') last.push(message);
    else groups.push([message]);
  }
  return groups;
}
