/** Of a longer query the first: a match keeps a bit for each. */
const MAX_WORDS = 24;

/** Of a text that holds a term more often, the first: a megabyte of one letter would be looked at place by place. */
const MOST_PLACES = 1_000;

const LETTER = /^[\p{L}\p{N}]/u;

export interface RecallQuery {
  /** the whole of it, folded */
  readonly phrase: string;
  /** at least one; of a path or an id both the whole and its parts */
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
  // Knows words also where a script has no blanks between them.
  const segments = [...new Intl.Segmenter('und', { granularity: 'word' }).segment(phrase)];
  const inner = segments.flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
  const all = [...new Set([...pieces, ...inner])].filter((word) => word !== '');
  const telling = all.filter((word) => !/^[a-z]{1,2}$/.test(word));
  const words = [telling, all, [phrase]].find(({ length }) => length > 0) ?? [];
  return { phrase, words: words.slice(0, MAX_WORDS) };
}

/** Where it first stands by itself, else where it first stands. */
export function findTerm(text: string, term: string): TermPlace | undefined {
  const first = text.indexOf(term);
  for (let at = first, looked = 0; at !== -1 && looked < MOST_PLACES; at = text.indexOf(term, at + 1), looked += 1) {
    if (!isWordAcross(text, at) && !isWordAcross(text, at + term.length)) return { at, isAlone: true };
  }
  return first === -1 ? undefined : { at: first, isAlone: false };
}

/** Whether a word or number goes on over this place. */
function isWordAcross(text: string, at: number): boolean {
  return LETTER.test(text[at - 1] ?? '') && LETTER.test(text[at] ?? '');
}

/** One form for what looks the same, and nothing that a cut could leave half of. */
export function canonical(text: string): string {
  return text.normalize('NFC').toWellFormed();
}

/** Lower case, at the same places: the one letter that would grow by it, and the one that depends on its neighbours, are replaced. */
export function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ');
}
