import { classOf, isWordClass, JOINER, OTHER, SPACE } from './characters.ts';

/** Maximum characters on each side of a cut in which a word is looked for. A longer name is cut. */
const REACH = 64;
const ASCII_END = 128;
const APOSTROPHE = 39;
const BACKSLASH = 92;
const ACCENT = /\p{M}/u;

/**
 * Finds words in any language. Its dictionaries know Chinese, Japanese and Thai words, which no blanks separate. It also
 * keeps letters with their accents and the parts of an emoji together. A lookup reads only the text around one place,
 * because a whole megabyte takes seconds.
 */
const WORDS = new Intl.Segmenter(undefined, { granularity: 'word' });

/** @returns the last place up to `at` that splits no word, name or surrogate pair. 0 for the start of the text */
export function breakBefore(text: string, at: number): number {
  return at <= 0 || at >= text.length ? Math.max(0, Math.min(at, text.length)) : findWord(text, at).start;
}

/** @returns the first place from `at` on that splits no word, name or surrogate pair */
export function breakAfter(text: string, at: number): number {
  return at <= 0 || at >= text.length ? Math.max(0, Math.min(at, text.length)) : findWord(text, at).end;
}

/** Finds the word around a place. Both bounds are the place itself if it stands between words. */
function findWord(text: string, at: number): { readonly start: number; readonly end: number } {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  if (isInName(text, at - 1) && isInName(text, at)) return findName(text, at);
  // A character above ASCII may be an accent, which belongs to the character before.
  if (isBetween(after) || (isBetween(before) && after < ASCII_END)) return { start: at, end: at };
  const from = wholeFrom(text, Math.max(0, at - REACH));
  const word = WORDS.segment(text.slice(from, at + REACH)).containing(at - from);
  if (word === undefined || word.index === at - from) return { start: at, end: at };
  return { start: from + word.index, end: from + word.index + word.segment.length };
}

/** Names such as `src/a.ts`, `2024-05-01` and `sold-out`, which the dictionaries would divide. */
function findName(text: string, at: number): { readonly start: number; readonly end: number } {
  let [start, end] = [at, at];
  while (start > 0 && at - start < REACH && isInName(text, start - 1)) start -= 1;
  while (end < text.length && end - at < REACH && isInName(text, end)) end += 1;
  // An accent at the start belongs to the character before, which is no letter.
  while (start > 0 && ACCENT.test(text.charAt(start))) start -= 1;
  return at - start < REACH ? { start, end } : { start: at, end: at };
}

/** A backslash counts, because it begins an escape such as `\u00e9`. */
function isInName(text: string, at: number): boolean {
  const found = classOf(text.charCodeAt(at));
  return isWordClass(found) || found === JOINER || text.charCodeAt(at) === BACKSLASH;
}

/** True for a blank, and for an ASCII mark other than the apostrophe of `don't`. Most cuts need no dictionary then. */
function isBetween(unit: number): boolean {
  const found = classOf(unit);
  return found === SPACE || (unit < ASCII_END && unit !== APOSTROPHE && found === OTHER);
}

function wholeFrom(text: string, at: number): number {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}
