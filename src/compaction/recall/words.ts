import { classOf, DIGIT, IDEOGRAPH, LOWER, SPACE } from '../evidence/characters.ts';

/** Receives each word. A sign is a word without letters and digits. */
type WordVisitor = (start: number, end: number, isSign: boolean) => void;

const LAST_ASCII = 127;
const UNKNOWN = 0;
const BLANK = 1;
const LETTER = 2;
const PAIRED = 3;
const SIGN = 4;
const kinds = new Uint8Array(65_536);

/**
 * Finds the words of a text in one pass, in any language:
 * - runs of letters and digits
 * - pairs of ideographs, or an ideograph that stands alone
 * - runs of other characters: two or more, or one outside ASCII. Single ASCII signs are on nearly every line
 */
export function scanWords(text: string, from: number, to: number, visit: WordVisitor): void {
  for (let at = from; at < to; ) {
    const kind = kindOf(text.charCodeAt(at));
    let end = at + 1;
    if (kind !== BLANK) {
      while (end < to && kindOf(text.charCodeAt(end)) === kind) end += 1;
      if (kind === LETTER) visit(at, end, false);
      else if (kind === PAIRED) visitPairs(at, end, visit);
      else if (end - at > 1 || text.charCodeAt(at) > LAST_ASCII) visit(at, end, true);
    }
    at = end;
  }
}

export function isWordAcross(text: string, at: number): boolean {
  return at > 0 && at < text.length && isLetter(text.charCodeAt(at - 1)) && isLetter(text.charCodeAt(at));
}

function visitPairs(from: number, to: number, visit: WordVisitor): void {
  if (to - from === 1) visit(from, to, false);
  for (let at = from + 1; at < to; at += 1) visit(at - 1, at + 1, false);
}

function isLetter(unit: number): boolean {
  const kind = kindOf(unit);
  return kind === LETTER || kind === PAIRED;
}

function kindOf(unit: number): number {
  const kind = kinds[unit] as number;
  return kind === UNKNOWN ? classify(unit) : kind;
}

function classify(unit: number): number {
  const found = classOf(unit);
  const isLetterOrDigit = found >= LOWER && found <= DIGIT;
  const kind = found === SPACE ? BLANK : found === IDEOGRAPH ? PAIRED : isLetterOrDigit ? LETTER : SIGN;
  kinds[unit] = kind;
  return kind;
}
