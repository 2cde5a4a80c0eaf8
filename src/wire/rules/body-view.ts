import type { z } from 'zod';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Breach, RuleContext } from './rule.ts';

export type Position = number;
/** Position of a text outside the list of messages: in Anthropic's `system` or in `instructions` of Responses. */
export const NO_POSITION: Position = -1;

export type Author = 'system' | 'user' | 'assistant' | 'result';

/** One message of a request body. In the Responses format, one input item. */
export interface ViewedMessage {
  readonly path: string;
  readonly author: Author;
  /**
   * Index of the item where the assistant's answer starts. In the Responses format, an answer may be several
   * consecutive items.
   */
  readonly answer?: Position;
  /** True if the message is a compaction that the provider wrote, which replaces everything before it. */
  readonly isCompaction?: boolean;
}

export interface ViewedCall {
  readonly path: string;
  readonly id: string;
  readonly position: Position;
  /** Index of the answer that made the call. The calls of one answer are a parallel batch. */
  readonly answer: Position;
  /**
   * Name of the called tool. Absent for a call of the provider's own tool, which needs no description in the request.
   */
  readonly name?: string;
  /** Parsed arguments, or undefined if they are not JSON. Absent for a tool that takes free text. */
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

/**
 * The facts about a request body that the shared rules (wire rules X1–X11) check. These facts have the same shape for
 * all formats.
 */
export interface BodyView {
  readonly body: unknown;
  /** Size of the body as JSON. Undefined if the body cannot be serialized. */
  readonly written: WrittenBody | undefined;
  readonly messages: readonly ViewedMessage[];
  readonly calls: readonly ViewedCall[];
  readonly results: readonly ViewedResult[];
  /** Texts that the model reads, except thinking. */
  readonly texts: readonly ViewedText[];
  /** Paths of lists in the body that must not be empty, but are. */
  readonly emptyLists: readonly string[];
  readonly tools: readonly ViewedTool[];
  /** Maximum length of a tool call id in characters, if the format has such a limit. */
  readonly maxIdLength?: number;
  readonly maxNameLength?: number;
  readonly maxTools?: number;
  readonly maxMessages?: number;
  /** Parts of the body that could not be read. The other fields leave these parts out. */
  readonly malformed: readonly Breach[];
}

/**
 * Returns the calls that may lack a result while a context is checked before its commit: the unanswered calls of the
 * last answer.
 */
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

/** Collects the facts for the shared rules while a format reads a request body of any shape. */
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
   * Reads a value with a schema, or reports the value as malformed.
   * @param expected error message to use if the schema's own message is unclear
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

/** @returns undefined if the text is not JSON */
export function parseBodyJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Facts about a body's JSON text. The text itself is not kept, because the JSON of a long conversation may exceed the
 * maximum length of a string.
 */
export interface WrittenBody {
  readonly bytes: number;
  /** True if the JSON text may hold a lone surrogate. */
  readonly hasEscapedSurrogate: boolean;
}

/** Prefix of an escaped lone surrogate: `JSON.stringify` escapes lone surrogates and leaves pairs unchanged. */
const ESCAPED_SURROGATE = '\\ud';

/** Characters that are serialized before the event loop gets a turn. Serializing that many takes about 3 ms. */
const SLICE_CHARACTERS = 1_000_000;

/**
 * Serializes a body, one item of its message list at a time, so that a long conversation does not block the event loop.
 * @returns undefined if the body cannot be serialized: nested too deep, or not JSON
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
