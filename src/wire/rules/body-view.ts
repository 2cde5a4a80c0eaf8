import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from '../../domain/bounded-schemas.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Breach, RuleContext } from './rule.ts';

export type Position = number;
/** Position of a system prompt, which is not in the list of messages. */
export const NO_POSITION: Position = -1;

export type Author = 'system' | 'user' | 'assistant' | 'result';

export interface ViewedMessage {
  readonly path: string;
  readonly author: Author;
  /** Index of the first item of the model's answer. In the Responses API, an answer may be several items. */
  readonly answer?: Position;
  /** True for a compaction of the provider, which replaces everything before it. */
  readonly isCompaction?: boolean;
}

export interface ViewedCall {
  readonly path: string;
  readonly id: string;
  readonly position: Position;
  /** Index of the answer that made the call. Calls of one answer are parallel. */
  readonly answer: Position;
  /** Absent for a provider's own tool, which the request need not describe. */
  readonly name?: string;
  /** Undefined for arguments that are not JSON. Absent for a tool that accepts free text. */
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

interface ViewedText {
  readonly path: string;
  readonly text: string;
  readonly position: Position;
}

/** Facts of a body that the shared rules (X1–X11) check, in one shape for all formats. */
export interface BodyView {
  readonly body: unknown;
  readonly written: WrittenBody | undefined;
  readonly messages: readonly ViewedMessage[];
  readonly calls: readonly ViewedCall[];
  readonly results: readonly ViewedResult[];
  readonly texts: readonly ViewedText[];
  readonly emptyLists: readonly string[];
  readonly tools: readonly ViewedTool[];
  readonly maxIdLength?: number;
  readonly maxNameLength?: number;
  readonly maxTools?: number;
  readonly maxMessages?: number;
  /** Parts of the body that could not be read. The other fields of the view lack these parts. */
  readonly malformed: readonly Breach[];
}

/** Returns the calls that need no result in a check before a commit: unanswered calls of the last answer. */
export function findOpenable(
  { messages, calls, results }: BodyView,
  { isProbed }: RuleContext,
): ReadonlySet<ViewedCall> {
  if (isProbed !== true) return new Set();
  const last = messages.findLast(({ author }) => author === 'assistant');
  const answered = new Set(results.map(({ callId }) => callId));
  return new Set(calls.filter(({ answer, id }) => answer === last?.answer && !answered.has(id)));
}

export const listSchema = boundedList(z.unknown(), MAX_GROWN_ENTRIES);
export const contentSchema = z.union([z.string(), listSchema]);

export function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

type Seen = Pick<BodyView, 'calls' | 'results' | 'texts' | 'emptyLists' | 'malformed'>;

export class BodyReader {
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
   * Reports a value that does not fit its schema as malformed.
   * @param expected message, if the schema's own is unclear
   */
  read<T>(schema: z.ZodType<T>, value: unknown, path: string, expected?: string): T | undefined {
    const read = schema.safeParse(value);
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    const place = expected === undefined ? [path, ...(issue?.path ?? []).map(String)] : [path];
    this.report(place.filter((name) => name !== '').join('.'), expected ?? issue?.message ?? 'cannot be read');
    return undefined;
  }

  report(path: string, message: string): void {
    this.#malformed.push({ path, message });
  }

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

export function parseBodyJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Facts of a body's JSON, whose text may exceed the maximum length of a string. */
interface WrittenBody {
  readonly bytes: number;
  readonly hasEscapedSurrogate: boolean;
}

/** Start of an escaped lone surrogate. `JSON.stringify` escapes lone surrogates and leaves pairs unchanged. */
const ESCAPED_SURROGATE = '\\ud';

/** Characters that are serialized between two yields, in about 3 ms. */
const SLICE_CHARACTERS = 1_000_000;

/**
 * Serializes message by message, so that a long conversation does not block the event loop.
 * @returns undefined if the body cannot be serialized
 */
export function* writeInSlices(body: unknown, list: 'messages' | 'input'): Interruptible<WrittenBody | undefined> {
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
