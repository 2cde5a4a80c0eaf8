import { canonical, fold } from './message-lines.ts';
import { scanWords } from './words.ts';

/** Maximum number of words, because the index stores the words of a line as bits of a 32-bit number. */
const MAX_WORDS = 24;

/** Text that a line must hold exactly: the whole query, or a path or id in it. */
interface ExactText {
  readonly text: string;
  /** Query words that are part of the text. Absent for the whole query. */
  readonly words?: readonly number[];
}

export interface RecallQuery {
  /** Words of the query in the form of the index. Empty if the text has only single ASCII signs. */
  readonly words: readonly string[];
  /** Texts of more than one word, which the index cannot find. The whole query comes first. */
  readonly exacts: readonly ExactText[];
}

export function readRecallQuery(query: string): RecallQuery {
  const phrase = fold(canonical(query.trim()));
  const [plain, signs] = readWords(phrase);
  const longer = plain.filter((word) => !/^[a-z]{1,2}$/.test(word));
  const words = ([longer, plain, signs].find(({ length }) => length > 0) ?? []).slice(0, MAX_WORDS);
  const isPlain = (text: string): boolean => text === '' || words.includes(text);
  const pieces = new Set(
    phrase.split(/\s+/u).map((piece) => /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/u.exec(piece)?.[0] ?? ''),
  );
  pieces.delete(phrase);
  const exacts = [...pieces]
    .filter((piece) => !isPlain(piece))
    .map((text) => ({ text, words: indexesIn(text, words) }));
  return { words, exacts: [...(isPlain(phrase) ? [] : [{ text: phrase }]), ...exacts] };
}

function readWords(phrase: string): readonly [words: string[], signs: string[]] {
  const words = new Set<string>();
  const signs = new Set<string>();
  scanWords(phrase, 0, phrase.length, (start, end, isSign) => (isSign ? signs : words).add(phrase.slice(start, end)));
  return [[...words], [...signs]];
}

function indexesIn(text: string, words: readonly string[]): number[] {
  const [found] = readWords(text);
  return words.flatMap((word, index) => (found.includes(word) ? [index] : []));
}
