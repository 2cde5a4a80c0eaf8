/** Words of a query that are used, the first ones. A match keeps a bit for each. */
const MAX_WORDS = 24;

/** Places of a term that are examined, the first ones. A megabyte of one letter has a place per character. */
const MOST_PLACES = 1_000;

const LETTER = /^[\p{L}\p{N}]/u;

export interface RecallQuery {
  /** The whole query, folded. */
  readonly phrase: string;
  /** At least one word. A path or an id contributes itself and its parts. */
  readonly words: readonly string[];
}

export interface TermPlace {
  readonly at: number;
  readonly isAlone: boolean;
}

/** @param given not blank */
export function readQuery(given: string): RecallQuery {
  const phrase = fold(canonical(given.trim()));
  const pieces = phrase.split(/\s+/u).map((piece) => /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/u.exec(piece)?.[0] ?? '');
  // The segmenter also finds words of scripts without spaces.
  const segments = [...new Intl.Segmenter('und', { granularity: 'word' }).segment(phrase)];
  const inner = segments.flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
  const all = [...new Set([...pieces, ...inner])].filter((word) => word !== '');
  const telling = all.filter((word) => !/^[a-z]{1,2}$/.test(word));
  const words = [telling, all, [phrase]].find(({ length }) => length > 0) ?? [];
  return { phrase, words: words.slice(0, MAX_WORDS) };
}

/** Finds the first place where the term is a word by itself, or else its first place. */
export function findTerm(text: string, term: string): TermPlace | undefined {
  const first = text.indexOf(term);
  for (let at = first, looked = 0; at !== -1 && looked < MOST_PLACES; at = text.indexOf(term, at + 1), looked += 1) {
    if (!isWordAcross(text, at) && !isWordAcross(text, at + term.length)) return { at, isAlone: true };
  }
  return first === -1 ? undefined : { at: first, isAlone: false };
}

/** Checks whether a word or number continues across this place. */
function isWordAcross(text: string, at: number): boolean {
  return LETTER.test(text[at - 1] ?? '') && LETTER.test(text[at] ?? '');
}

/** Gives equal-looking texts one form, and replaces half characters. */
export function canonical(text: string): string {
  return text.normalize('NFC').toWellFormed();
}

/**
 * Folds to lower case without moving any place. Two letters are replaced first: one would grow, one depends on its
 * neighbours.
 */
export function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ');
}
