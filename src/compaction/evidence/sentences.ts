import { classOf, SPACE } from './characters.ts';

/** Minimum characters of a sentence. A shorter sentence is joined with the next sentence. */
const MIN_CHARS = 40;
/** Maximum characters of a sentence. A longer sentence is split between words. */
const MAX_CHARS = 240;
const MIN_PIECE_CHARS = 160;
const COMMA = 44;
/** The full stop after an initial does not end a sentence: `R. Oyelaran`. */
const SENTENCE_END = /(?<!(?<![\p{L}\p{N}])\p{Lu}(?=\.))[.!?]["'”’)\]*]{0,3}(?=\s)|[。！？][”」）]?/gu;

export function* splitSentences(text: string, start: number, end: number): Generator<readonly [number, number]> {
  for (let from = start; from < end; ) {
    const to = end - from <= MIN_CHARS ? end : Math.min(end, endOfSentence(text, from, end));
    yield [from, to];
    from = to;
  }
}

function endOfSentence(text: string, from: number, end: number): number {
  const within = text.slice(from + MIN_CHARS, Math.min(end, from + MAX_CHARS));
  SENTENCE_END.lastIndex = 0;
  const found = SENTENCE_END.exec(within);
  if (found !== null) return from + MIN_CHARS + SENTENCE_END.lastIndex;
  return end - from <= MAX_CHARS ? end : findBreak(text, from + MIN_PIECE_CHARS, from + MAX_CHARS);
}

/**
 * @returns the place after the first comma, else after the first space, else `to`. Never a place inside a surrogate
 * pair
 */
export function findBreak(text: string, from: number, to: number): number {
  let space = -1;
  for (let at = from; at < to; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA) return at + 1;
    if (space < 0 && classOf(unit) === SPACE) space = at + 1;
  }
  if (space >= 0) return space;
  return (text.codePointAt(to - 1) ?? 0) > 0xffff ? to - 1 : to;
}
