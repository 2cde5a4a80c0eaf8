import { classOf, IDEOGRAPH, SPACE } from './characters.ts';
import { breakBefore } from './word-breaks.ts';

interface Sizes {
  /** Minimum characters of a sentence. A shorter sentence is joined with the next sentence. */
  readonly min: number;
  /** Maximum characters of a sentence. A longer sentence is split between words. */
  readonly max: number;
  readonly minPiece: number;
}

const SIZES: Sizes = { min: 40, max: 240, minPiece: 160 };
/** A Chinese or Japanese character says as much as three letters, and has as many tokens. */
const CHARS_A_WIDE = 3;
const WIDE_SIZES: Sizes = { min: 14, max: 80, minPiece: 54 };
/** Number of first characters that tell the script of a text. */
const SCRIPT_CHARS = 32;
const COMMA = 44;
/** Commas, colons and semicolons of Chinese and Japanese, which no blank follows. */
const WIDE_COMMAS = '，、；：';
/** The full stop after an initial does not end a sentence: `R. Oyelaran`. */
const SENTENCE_END = /(?<!(?<![\p{L}\p{N}])\p{Lu}(?=\.))[.!?…]["'”“’»)\]*]{0,3}(?=\s)|[。．！？｡]+[”’」』）》]?/gu;

export function* splitSentences(text: string, start: number, end: number): Generator<readonly [number, number]> {
  for (let from = start; from < end; ) {
    const sizes = isWide(text, from, end) ? WIDE_SIZES : SIZES;
    const to = end - from <= sizes.min ? end : Math.min(end, endOfSentence(text, from, end, sizes));
    yield [from, to];
    from = to;
  }
}

/** True for a line of so few characters that it stays one record. */
export function isShortLine(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  most: number,
): boolean {
  const chars = end - start;
  return chars <= most && (chars * CHARS_A_WIDE <= most || !isWide(text, start, end));
}

function isWide(text: string, from: number, end: number): boolean {
  const to = Math.min(end, from + SCRIPT_CHARS);
  let ideographs = 0;
  for (let at = from; at < to; at += 1) if (classOf(text.charCodeAt(at)) === IDEOGRAPH) ideographs += 1;
  return 2 * ideographs > to - from;
}

function endOfSentence(text: string, from: number, end: number, { min, max, minPiece }: Sizes): number {
  const within = text.slice(from + min, Math.min(end, from + max));
  SENTENCE_END.lastIndex = 0;
  const found = SENTENCE_END.exec(within);
  if (found !== null) return from + min + SENTENCE_END.lastIndex;
  return end - from <= max ? end : findBreak(text, from + minPiece, from + max);
}

/** @returns the place after the first comma, else after the first space, else between the words at `to` */
export function findBreak(text: string, from: number, to: number): number {
  let space = -1;
  for (let at = from; at < to; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA || WIDE_COMMAS.includes(text.charAt(at))) return at + 1;
    if (space < 0 && classOf(unit) === SPACE) space = at + 1;
  }
  if (space >= 0) return space;
  const end = breakBefore(text, to);
  if (end > from) return end;
  return (text.codePointAt(to - 1) ?? 0) > 0xffff ? to - 1 : to;
}
