import { classOf, DIGIT, IDEOGRAPH, JOINER, LOWER, UNDERSCORE, UPPER } from './characters.ts';

export interface TermShape {
  readonly chars: number;
  /** Small letters and nothing else: most likely a plain word. */
  readonly isPlain: boolean;
  /** One capital, then small letters: most likely a name or the start of a sentence. */
  readonly isCapitalized: boolean;
  /** `ORDER_17`. */
  readonly isUpperCase: boolean;
  readonly isNumber: boolean;
  readonly hasDigit: boolean;
  readonly hasLetter: boolean;
  readonly hasLower: boolean;
  /** `readFile`. */
  readonly hasInnerCapital: boolean;
  readonly hasUnderscore: boolean;
  readonly isJoined: boolean;
  readonly isPath: boolean;
  readonly isIdeographic: boolean;
}

/** Characters by their class. One list for all terms, because a list for each takes longer to make than to fill. */
const counts = new Uint8Array(8);

export function shapeOf(term: string): TermShape {
  counts.fill(0);
  let hasInnerCapital = false;
  let before = -1;
  for (let index = 0; index < term.length; index += 1) {
    const found = classOf(term.charCodeAt(index));
    counts[found] = (counts[found] as number) + 1;
    hasInnerCapital ||= found === UPPER && before === LOWER;
    before = found;
  }
  const [lower, upper, digits] = [counts[LOWER] as number, counts[UPPER] as number, counts[DIGIT] as number];
  return {
    chars: term.length,
    isPlain: lower === term.length,
    isCapitalized: upper === 1 && lower === term.length - 1 && classOf(term.charCodeAt(0)) === UPPER,
    isUpperCase: upper > 1 && lower === 0,
    isNumber: digits === term.length,
    hasDigit: digits > 0,
    hasLetter: lower + upper > 0,
    hasLower: lower > 0,
    hasInnerCapital,
    hasUnderscore: counts[UNDERSCORE] !== 0,
    isJoined: counts[JOINER] !== 0,
    isPath: counts[JOINER] !== 0 && term.includes('/'),
    isIdeographic: counts[IDEOGRAPH] !== 0,
  };
}
