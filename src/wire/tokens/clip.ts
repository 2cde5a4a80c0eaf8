import { type EncodingTables, tokenize } from './tokenization.ts';

/** UTF-16 units per token, for a first try. Most tokens are shorter, but a token of blanks may have 128 units. */
const UNITS_A_TOKEN = 8;

/** Tokens at the cut that may change if more text follows: 500 blanks are five tokens, 512 are four. */
const MARGIN_TOKENS = 8;

/** Code points between two yields, which take about a tenth of a millisecond. */
const CODE_POINTS_A_SLICE = 16_384;

/** The start or the end of a text. Never contains half a surrogate pair. */
interface Side {
  takeUnits(text: string, maxUnits: number): string;
  takeBytes(text: string, maxBytes: number): Generator<void, string>;
  /** Number of bytes of the first or last `tokens` tokens. `ends` has the offset of each token's end. */
  bytesOf(ends: readonly number[], tokens: number): number;
}

/**
 * Returns the longest start of at most `maxTokens` tokens, without splitting a character. After another cut, one or two
 * more characters might fit. The cost grows with `maxTokens`, not with the text. 8,000 tokens of real text take 3–20
 * ms, of one letter 30 ms, and of blanks (a megabyte) 0.4 s. Yields at least once per millisecond.
 */
export function clipStart(tables: EncodingTables, text: string, maxTokens: number): Generator<void, string> {
  return clip(HEAD, tables, text, maxTokens);
}

export function clipEnd(tables: EncodingTables, text: string, maxTokens: number): Generator<void, string> {
  return clip(TAIL, tables, text, maxTokens);
}

function* clip(side: Side, tables: EncodingTables, text: string, maxTokens: number): Generator<void, string> {
  if (maxTokens <= 0) return '';
  const enough = maxTokens + MARGIN_TOKENS + 1;
  // Each UTF-16 unit is at least one byte, so a text with more units has more than `maxTokens` tokens.
  const reach = Math.min(text.length, maxTokens * tables.vocabulary.longest);
  let units = enough * UNITS_A_TOKEN;
  let window = side.takeUnits(text, units);
  let ends = yield* findTokenEnds(tables, window);
  while (ends.length < enough && units < reach) {
    units = Math.min(reach, units * Math.max(2, Math.ceil(enough / ends.length)));
    window = side.takeUnits(text, units);
    ends = yield* findTokenEnds(tables, window);
  }
  if (ends.length <= maxTokens) return window;
  // After the cut, the text may split differently ("let's" → "'s") and have more tokens.
  for (let kept = maxTokens; ; ) {
    const part = yield* side.takeBytes(window, side.bytesOf(ends, kept));
    const excess = (yield* findTokenEnds(tables, part)).length - maxTokens;
    if (excess <= 0) return part;
    kept = Math.max(0, kept - excess);
  }
}

function* findTokenEnds(tables: EncodingTables, text: string): Generator<void, number[]> {
  const ends: number[] = [];
  let end = 0;
  yield* tokenize(tables, text, (id) => {
    end += tables.vocabulary.lengthOf(id);
    ends.push(end);
  });
  return ends;
}

const HEAD: Side = {
  takeUnits(text, maxUnits) {
    if (maxUnits >= text.length) return text;
    return text.slice(0, isPairAt(text, maxUnits - 1) ? maxUnits - 1 : maxUnits);
  },
  *takeBytes(text, maxBytes) {
    let end = 0;
    let left = maxBytes;
    for (let passed = 1; end < text.length; passed++) {
      const codePoint = text.codePointAt(end) as number;
      left -= utf8Length(codePoint);
      if (left < 0) break;
      end += utf16Length(codePoint);
      if (passed % CODE_POINTS_A_SLICE === 0) yield;
    }
    return text.slice(0, end);
  },
  bytesOf: (ends, tokens) => ends[tokens - 1] ?? 0,
};

const TAIL: Side = {
  takeUnits(text, maxUnits) {
    if (maxUnits >= text.length) return text;
    const start = text.length - maxUnits;
    return text.slice(isPairAt(text, start - 1) ? start + 1 : start);
  },
  *takeBytes(text, maxBytes) {
    let start = text.length;
    let left = maxBytes;
    for (let passed = 1; start > 0; passed++) {
      const codePoint = text.codePointAt(isPairAt(text, start - 2) ? start - 2 : start - 1) as number;
      left -= utf8Length(codePoint);
      if (left < 0) break;
      start -= utf16Length(codePoint);
      if (passed % CODE_POINTS_A_SLICE === 0) yield;
    }
    return text.slice(start);
  },
  bytesOf: (ends, tokens) => (ends.at(-1) ?? 0) - (ends[ends.length - tokens - 1] ?? 0),
};

function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}

function utf16Length(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
