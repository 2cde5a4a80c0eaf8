/** Scripts without spaces between words. */
const UNSPACED = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}';
/**
 * Letters, marks, digits and underscores, except in those scripts. `[^\P{L}x]` matches every letter except x. A subtraction
 * of sets says the same, but the checker of slow expressions cannot read the `v` flag.
 */
const WORD = `(?:[^\\P{L}${UNSPACED}]|[^\\P{M}${UNSPACED}]|[^\\P{N}${UNSPACED}]|_)+`;
const JOINER = '(?:[.\\/@:#\\-]{1,3}|(?<=\\d),(?=\\d{3}))';
const START = '(?:~\\/|\\.{0,2}\\/|#)?';
/** Matches a word, or words that joiners make one name: `src/a.ts`, `a::b`, `#W-4711`, `1,234.50`. */
export const NAME = new RegExp(`${START}${WORD}(?:${JOINER}${WORD})*`, 'gu');
export const NAME_START = new RegExp(`^${START}`, 'u');
const WORDS = new RegExp(WORD, 'gu');

/** A lone colon, which joins a name and its value or line: `status:done`, `a.ts:12`. It stays in `10:30`, `a::b` and `https://`. */
export const LOOSE_COLON = /(?<=[^\d:]):(?![:/])|(?<=\d):(?![\d:/])/;

export function wordsOf(name: string): string[] {
  return name.match(WORDS) ?? [];
}

const MIN_CHARS = 3;
const FIGURE = /^[\d.,/:\-#]+$/;
/** A figure that names something: three digits in a row, a time, a price, or three parts as in a date or version. */
const TELLING_FIGURE = /\d{3}|\d:\d|\.\d{2,}|^\D*\d+\D+\d+\D+\d/;
/** A figure with a unit or ending: `300ms`, `2nd`. */
const MEASURED = /^(\d+)\p{L}{1,3}$/u;
/** `3-day` */
const COUNTED = /^\d{1,2}(?:-\p{L}+)+$/u;
const LETTERS = /^[\p{L}\p{M}]+$/u;
const CAMEL_CASE = /\p{Ll}\p{Lu}/u;
/** Six capitals are the form of booking codes. Most other words in capitals are shorter, or the source knows them. */
const CAPITALS = /^\p{Lu}{6,}$/u;

/**
 * Says what a match of `NAME` is. A figure is compared by its value. A pair, such as `read/write` or `src/app`, is a name if
 * the source lacks one of its words.
 */
export function kindOf(name: string): 'plain' | 'name' | 'figure' | 'pair' {
  if (name.length < MIN_CHARS || COUNTED.test(name)) return 'plain';
  if (FIGURE.test(name)) return TELLING_FIGURE.test(name) ? 'figure' : 'plain';
  const [, measure] = MEASURED.exec(name) ?? [];
  if (measure !== undefined) return TELLING_FIGURE.test(measure) ? 'figure' : 'plain';
  const words = wordsOf(name);
  if (words.some((word) => isMixed(word) || CAPITALS.test(word))) return 'name';
  if (/^[~./#]/.test(name)) return 'name';
  if (!words.every((word) => LETTERS.test(word))) return 'name';
  return kindOfWords(name, words);
}

/** Checks for letters beside digits, for an underscore beside either, and for a capital after a small letter. */
function isMixed(word: string): boolean {
  if (/\p{L}/u.test(word) && /\d/.test(word)) return true;
  return (word.includes('_') && /[\p{L}\p{N}]/u.test(word)) || CAMEL_CASE.test(word);
}

/** @param words words of the name, which have letters only */
function kindOfWords(name: string, words: readonly string[]): 'plain' | 'name' | 'pair' {
  const isCompound = !/[./@:#]/.test(name);
  const isAbbreviation = words.every(({ length }) => length === 1);
  if (isCompound || isAbbreviation) return 'plain';
  return words.length === 2 && /^[^.@:#]+$/.test(name) ? 'pair' : 'name';
}

/** Number of a figure, without its unit. */
export function valueOf(figure: string): string {
  return MEASURED.exec(figure)?.[1] ?? figure.replace(/^#/, '');
}
