import { type ErrorCode, fieldError } from './errors.ts';

/** Bounds that are checked on the text of JSON, before the parser makes an object of the text. */
export interface JsonTextBounds {
  readonly maxDepth: number;
  /** Maximum number of values and names. A list or an object counts twice. */
  readonly maxValues: number;
  /** Maximum different short strings, names included. Entering each in a table is the parser's slowest work. */
  readonly maxTexts?: number;
}

/** Parsing this many different names takes 20 ms. Without bounds, 4 MB could hold 1,400,000 objects. */
export const JSON_TEXT_BOUNDS: JsonTextBounds = { maxDepth: 200, maxValues: 60_000 };

/** Bounds of one Redis field, which combines several values within `JSON_TEXT_BOUNDS`. */
export const STORED_JSON_BOUNDS: JsonTextBounds = { maxDepth: 220, maxValues: 150_000 };

/** JSON that grows with a conversation. Enough for 25,000 segments, which share a few names. */
export const GROWN_JSON_BOUNDS: JsonTextBounds = { maxDepth: 20, maxValues: 400_000, maxTexts: 20_000 };

/** V8 enters strings of up to ten characters in a table. With escapes, such a string has up to 60 in JSON. */
const SHORT_TEXT = 60;

interface JsonRefusal {
  readonly code: Extract<ErrorCode, 'invalid_input' | 'message_too_large'>;
  readonly why: string;
}

/** @throws invalid_input for a text that is not JSON or is nested too deeply, message_too_large for too many values */
export function parseJsonText(text: string, at: string, bounds = JSON_TEXT_BOUNDS): unknown {
  const refusal = refuseJsonText(text, bounds);
  if (refusal !== undefined) throw fieldError(refusal.code, at, refusal.why);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fieldError('invalid_input', at, 'not valid JSON', { cause });
  }
}

export function readJsonText(text: string, bounds = JSON_TEXT_BOUNDS): unknown {
  if (refuseJsonText(text, bounds) !== undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Searching for structural characters is ten times as fast as a loop over all characters. */
const STRUCTURE = /["[\]{},:]/g;

/** Checks the bounds in one pass that creates no objects, in at most 10 ms for 4 MB, even if the text is not JSON. */
export function refuseJsonText(
  text: string,
  { maxDepth, maxValues, maxTexts }: JsonTextBounds = JSON_TEXT_BOUNDS,
): JsonRefusal | undefined {
  const exceeds = countTexts(maxTexts);
  let depth = 0;
  let values = 1;
  STRUCTURE.lastIndex = 0;
  while (STRUCTURE.test(text)) {
    const at = STRUCTURE.lastIndex - 1;
    switch (text.charCodeAt(at)) {
      case QUOTE:
        STRUCTURE.lastIndex = findStringEnd(text, at) + 1;
        if (exceeds(text, at, STRUCTURE.lastIndex)) return { code: 'message_too_large', why: tooManyValues(maxValues) };
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        if (depth > maxDepth) return { code: 'invalid_input', why: `nested more than ${maxDepth} levels deep` };
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        if (depth < 0) return undefined;
        break;
      default:
        values += 1;
    }
    if (values > maxValues) return { code: 'message_too_large', why: tooManyValues(maxValues) };
  }
  return undefined;
}

function countTexts(maxTexts = Number.POSITIVE_INFINITY): (text: string, from: number, to: number) => boolean {
  if (maxTexts === Number.POSITIVE_INFINITY) return () => false;
  const texts = new Set<string>();
  return (text, from, to) => to - from <= SHORT_TEXT && texts.add(text.slice(from, to)).size > maxTexts;
}

export function tooManyValues(maxValues: number): string {
  return `contains more than ${maxValues} JSON values and names, where a list or object counts twice. Send less at once`;
}

function findStringEnd(text: string, start: number): number {
  // Searching is 20 times as fast as reading each character, but fails at escaped quotes.
  const end = text.indexOf('"', start + 1);
  if (end < 0) return text.length;
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== QUOTE && at < text.length; code = text.charCodeAt(at)) {
    at += code === BACKSLASH ? 2 : 1;
  }
  return at;
}
