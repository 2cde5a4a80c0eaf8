import { readJsonText } from '../../../domain/json-text.ts';
import type { Message, ToolCall } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import { type Part, readParts } from '../../../domain/parts.ts';
import { isThinking, type RawFormat, type RawItem, readRawItems } from '../../../domain/raw-items.ts';

/** A JSON object of another program's format. */
export type Written = Record<string, unknown>;

/** Writes the messages of a conversation in the format of another program. */
export interface HistoryWriter {
  /** Value of the option `--to`. */
  readonly name: string;
  /** @returns a JSON document */
  readonly write: (messages: readonly Message[]) => unknown;
}

/** A part that other formats can hold. Contents that are kept elsewhere become a line of text. */
export type WrittenPart = Exclude<Part, { readonly kind: 'reference' | 'other' }>;

/** Returns the parts of a message, in order. The text of a message without parts is one part. */
export function partsOf(message: Message): WrittenPart[] {
  return readParts(message).map((part): WrittenPart => {
    if (part.kind === 'reference') return { kind: 'text', text: `(${part.mediaType} ${part.name ?? part.reference})` };
    return part.kind === 'other' ? { kind: 'text', text: `(a part of type ${part.type})` } : part;
  });
}

/** Returns true if a message has only text, which each format can hold as a string. */
export function isPlain(message: Message): boolean {
  return partsOf(message).every(({ kind }) => kind === 'text');
}

/** Returns the arguments of a call as an object. Other JSON stands under the key `input`. */
export function inputOf({ arguments: text }: ToolCall): Written {
  const value = readJsonText(text);
  return isMapping(value) ? { ...value } : { input: value ?? text };
}

/** Returns the model's thinking in a message, as far as it was recorded in this format. */
export function thinkingOf(message: Message, format: RawFormat): RawItem[] {
  const raw = readRawItems(message);
  return raw?.format === format ? raw.items.filter(isThinking) : [];
}

export function dataUrl({ mediaType, base64 }: { readonly mediaType: string; readonly base64: string }): string {
  return `data:${mediaType};base64,${base64}`;
}

/** Joins neighbours of one kind, such as the results of parallel calls. */
export function groupBy<Item>(items: readonly Item[], belongs: (item: Item) => boolean): Item[][] {
  const groups: Item[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && belongs(last[0]) && belongs(item)) last.push(item);
    else groups.push([item]);
  }
  return groups;
}
