import { classOf, DIGIT, IDEOGRAPH, JOINER, LOWER, UNDERSCORE, UPPER } from './characters.ts';

export interface TermShape {
  readonly chars: number;
  /** Only small letters: most likely a plain word. */
  readonly isPlain: boolean;
  /** One capital, then small letters: most likely a name or the start of a sentence. */
  readonly isCapitalized: boolean;
  /** True for names such as `ORDER_17`. */
  readonly isUpperCase: boolean;
  readonly isNumber: boolean;
  readonly hasDigit: boolean;
  readonly hasLetter: boolean;
  readonly hasLower: boolean;
  /** True for names such as `readFile`. */
  readonly hasInnerCapital: boolean;
  readonly hasUnderscore: boolean;
  readonly isJoined: boolean;
  readonly isPath: boolean;
  readonly isIdeographic: boolean;
}

/** Characters by class. All terms share this list, because creating a list takes longer than filling it. */
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
