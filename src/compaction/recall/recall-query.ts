import { canonical, fold } from './message-lines.ts';
import { type Cues, isCueWord, isFrameWord, readCues } from './question-words.ts';
import { scanWords } from './words.ts';

/** Maximum number of different words that are looked up. The index searches for the rarest of them. */
const MAX_WORDS = 96;
/** Weights of a word that says what is asked for, and of a part of a name such as `getUserName`. */
const CUE_WEIGHT = 0.5;
const PART_WEIGHT = 0.5;

/**
 * Words of the index that mark the end of each failed result, and the start of each user message. No text has them,
 * because no word of a text has blanks.
 */
export const FAILED_MARK = '\u0001 \u0002';
export const USER_MARK = '\u0001 \u0003';

export interface QueryWord {
  readonly text: string;
  /** Share of the word's weight, up to 1. */
  readonly share: number;
}

/** Text that a line must hold exactly: the whole query, or a path or id in it. */
interface ExactText {
  readonly text: string;
  /** Query words that are part of the text. Absent for the whole query. */
  readonly words?: readonly string[];
}

export interface RecallQuery {
  /** Words of the query in the form of the index. Empty if the text has only single ASCII signs. */
  readonly words: readonly QueryWord[];
  /** Texts of more than one word, which the index cannot find. The whole query comes first. */
  readonly exacts: readonly ExactText[];
  readonly cues: Cues;
}

export function readRecallQuery(query: string): RecallQuery {
  const whole = canonical(query.trim());
  const phrase = fold(whole);
  const [plain, signs] = readWords(phrase);
  const topic = plain.filter((word) => !isFrameWord(word));
  const texts = ([topic, plain, signs].find(({ length }) => length > 0) ?? []).slice(0, MAX_WORDS);
  const cues = readCues(phrase);
  const isPlain = (text: string): boolean => text === '' || texts.includes(text);
  const pieces = new Set(
    phrase.split(/\s+/u).map((piece) => /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/u.exec(piece)?.[0] ?? ''),
  );
  pieces.delete(phrase);
  const exacts = [...pieces]
    .filter((piece) => !isPlain(piece) && !isFrameWord(piece))
    .map((text) => ({ text, words: readWords(text)[0].filter((word) => texts.includes(word)) }));
  return {
    words: [...weighWords(texts), ...weighParts(whole, texts), ...markWords(cues)],
    exacts: [...(isPlain(phrase) ? [] : [{ text: phrase }]), ...exacts],
    cues,
  };
}

function weighWords(texts: readonly string[]): QueryWord[] {
  return texts.map((text) => ({ text, share: isCueWord(text) ? CUE_WEIGHT : 1 }));
}

const PART = /\p{Lu}?\p{Ll}{2,}|\p{Lu}{3,}/gu;
const JOINED = /\p{Ll}\p{Lu}\p{Ll}/u;

/** The parts of names such as `getUserName`, which the log may write as `user_name`. */
function weighParts(whole: string, texts: readonly string[]): QueryWord[] {
  const parts = whole.split(/[^\p{L}\p{N}]+/u).flatMap((run) => (JOINED.test(run) ? (run.match(PART) ?? []) : []));
  return [...new Set(parts.map(fold))]
    .filter((part) => !texts.includes(part) && !isFrameWord(part))
    .map((text) => ({ text, share: PART_WEIGHT }));
}

function markWords({ asksFailure, asksUser }: Cues): QueryWord[] {
  return [...(asksFailure ? [FAILED_MARK] : []), ...(asksUser ? [USER_MARK] : [])].map((text) => ({
    text,
    share: CUE_WEIGHT,
  }));
}

function readWords(phrase: string): readonly [words: string[], signs: string[]] {
  const words = new Set<string>();
  const signs = new Set<string>();
  scanWords(phrase, 0, phrase.length, (start, end, isSign) => (isSign ? signs : words).add(phrase.slice(start, end)));
  return [[...words], [...signs]];
}
