import type { z } from 'zod';
import { endsSlice, type Sliced } from '../../domain/sliced.ts';
import type { Breach, RuleContext } from './rule.ts';

/** Index into a view's messages. */
export type Position = number;
/** Where a text stands that is no message: Anthropic's `system`, Responses' `instructions`. */
export const NO_POSITION: Position = -1;

export type Author = 'system' | 'user' | 'assistant' | 'result';

/** One message of a body, or one item where the format has items. */
export interface ViewedMessage {
  readonly path: string;
  readonly author: Author;
  /** of an assistant's: where its answer begins. One answer is one message, or a run of items */
  readonly answer?: Position;
  /** a compaction of the provider's own, which stands for all that came before it, the user's first message included */
  readonly isCompaction?: boolean;
}

export interface ViewedCall {
  readonly path: string;
  readonly id: string;
  readonly position: Position;
  /** the answer that made it, as its messages name it: its calls are one parallel batch */
  readonly answer: Position;
  /** absent: made by a tool of the provider's that no request describes */
  readonly name?: string;
  /** of the current tool loop, whose thinking would not survive another tool: any that is described will do */
  readonly mayBeUndescribed?: boolean;
  /** parsed where the format sends text; undefined where that is no JSON. Absent: free text by its kind */
  readonly input?: unknown;
}

export interface ViewedTool {
  readonly path: string;
  readonly name: string;
}

export interface ViewedResult {
  readonly path: string;
  readonly callId: string;
  readonly position: Position;
}

export interface ViewedText {
  readonly path: string;
  readonly text: string;
  readonly position: Position;
}

/** What every format's requests have in common: the rules for all formats (X…) are written over this, once. */
export interface BodyView {
  readonly body: unknown;
  /** the body as it is sent; undefined where it cannot be written */
  readonly written: WrittenBody | undefined;
  readonly messages: readonly ViewedMessage[];
  readonly calls: readonly ViewedCall[];
  readonly results: readonly ViewedResult[];
  /** what a model reads, thinking aside */
  readonly texts: readonly ViewedText[];
  /** paths of lists that hold nothing and may not */
  readonly emptyLists: readonly string[];
  /** the tools that the request describes, by name */
  readonly tools: readonly ViewedTool[];
  /** of a call's id, in characters; absent: none that is known */
  readonly maxIdLength?: number;
  /** of a tool's name, in characters; absent: none that is known */
  readonly maxNameLength?: number;
  /** most that one request may have; absent: no number that is known */
  readonly maxTools?: number;
  readonly maxMessages?: number;
  /** what does not have the format's form, and is not in the rest of the view */
  readonly malformed: readonly Breach[];
}

/** The calls that a probed body may leave without a result: those of the last answer that have none anywhere. */
export function findOpenable(
  { messages, calls, results }: BodyView,
  { isProbed }: RuleContext,
): ReadonlySet<ViewedCall> {
  if (isProbed !== true) return new Set();
  const last = messages.findLast(({ author }) => author === 'assistant');
  const answered = new Set(results.map(({ callId }) => callId));
  return new Set(calls.filter(({ answer, id }) => answer === last?.answer && !answered.has(id)));
}

type Seen = Pick<BodyView, 'calls' | 'results' | 'texts' | 'emptyLists' | 'malformed'>;

/** What one walk over a body of any shape has seen so far. A format's own reading adds what its own rules ask for. */
export class BodyReading {
  readonly calls: ViewedCall[] = [];
  readonly results: ViewedResult[] = [];
  readonly texts: ViewedText[] = [];
  readonly emptyLists: string[] = [];
  readonly #malformed: Breach[] = [];

  get seen(): Seen {
    const { calls, results, texts, emptyLists } = this;
    return { calls, results, texts, emptyLists, malformed: this.#malformed };
  }

  /**
   * Reads a value, or tells that it is not what has to stand there.
   * @param expected in words, where the schema's own would not be plain
   */
  read<T>(schema: z.ZodType<T>, value: unknown, path: string, expected?: string): T | undefined {
    const read = schema.safeParse(value);
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    const place = expected === undefined ? [path, ...(issue?.path ?? []).map(String)] : [path];
    this.tell(place.filter((name) => name !== '').join('.'), expected ?? issue?.message ?? 'not readable');
    return undefined;
  }

  tell(path: string, message: string): void {
    this.#malformed.push({ path, message });
  }

  /** Content as all formats have it: a text, or a list of parts. */
  readContent(
    content: string | readonly unknown[],
    { path, position }: { readonly path: string; readonly position: Position },
    readPart: (part: unknown, path: string) => void,
  ): void {
    if (typeof content === 'string') this.texts.push({ path, text: content, position });
    else if (content.length === 0) this.emptyLists.push(path);
    else content.forEach((part, index) => readPart(part, `${path}[${index}]`));
  }
}

/** @returns undefined where the text is no JSON */
export function parseBodyJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A body as JSON, without the text: that of a long conversation would be written in one go, and may be too long for a string. */
export interface WrittenBody {
  readonly bytes: number;
  /** whether a lone surrogate may stand in it */
  readonly hasEscapedSurrogate: boolean;
}

/** How JSON writes a lone surrogate; whole pairs stand as they are. */
const ESCAPED_SURROGATE = '\\ud';

/** Characters written between two yields, about 3 ms. */
const SLICE_CHARACTERS = 1_000_000;

/**
 * Writes a body item by item of its list of messages.
 * @returns undefined where the body cannot be written: nested too deep, or no JSON at all
 */
export function* writeInSlices(body: unknown, list: 'messages' | 'input'): Sliced<WrittenBody | undefined> {
  const { [list]: given, ...rest } = (isObject(body) ? body : {}) as { [list]?: unknown };
  const items = Array.isArray(given) ? given : undefined;
  let isWhole = true;
  let bytes = 0;
  let hasEscapedSurrogate = false;
  const write = (value: unknown): number => {
    const text = writeBodyJson(value);
    isWhole &&= text !== undefined;
    if (text === undefined) return 0;
    bytes += Buffer.byteLength(text);
    hasEscapedSurrogate ||= text.includes(ESCAPED_SURROGATE);
    return text.length;
  };
  write(items === undefined ? body : { ...rest, [list]: [] });
  let characters = 0;
  for (const [index, item] of (items ?? []).entries()) {
    characters += write(item ?? null);
    if (index > 0) bytes += 1;
    if (!endsSlice(index) && characters < SLICE_CHARACTERS) continue;
    characters = 0;
    yield;
  }
  return isWhole ? { bytes, hasEscapedSurrogate } : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function writeBodyJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
