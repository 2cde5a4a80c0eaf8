import { endsSlice, type Sliced } from '../../domain/sliced.ts';

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
