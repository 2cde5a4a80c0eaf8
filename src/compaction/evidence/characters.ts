/** Classes of characters in names. A joiner connects words to one name: `src/a.ts`, `2024-05-01`. */
export const OTHER = 0;
export const LOWER = 1;
export const UPPER = 2;
export const DIGIT = 3;
export const UNDERSCORE = 4;
export const JOINER = 5;
/** Characters of scripts without spaces between words, and the long vowel mark of Japanese, as in `タクシー`. */
export const IDEOGRAPH = 6;
export const SPACE = 7;

const JOINERS = './-@:#+~$%';
const TESTS: readonly (readonly [RegExp, number])[] = [
  [/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}ーｰ]/u, IDEOGRAPH],
  [/\p{Lu}/u, UPPER],
  [/[\p{L}\p{M}]/u, LOWER],
  [/\p{N}/u, DIGIT],
  [/\s/, SPACE],
];
const UNKNOWN = 255;
/** Class of each UTF-16 unit, filled when a unit is first seen. Surrogates belong to no name. */
const classes = new Uint8Array(65_536).fill(UNKNOWN);

export function classOf(unit: number): number {
  const known = classes[unit];
  if (known === undefined) return OTHER;
  if (known !== UNKNOWN) return known;
  const found = classify(String.fromCharCode(unit));
  classes[unit] = found;
  return found;
}

function classify(character: string): number {
  if (character === '_') return UNDERSCORE;
  if (JOINERS.includes(character)) return JOINER;
  return TESTS.find(([pattern]) => pattern.test(character))?.[1] ?? OTHER;
}

export function isWordClass(found: number): boolean {
  return found >= LOWER && found <= UNDERSCORE;
}
