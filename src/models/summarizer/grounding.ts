import type { Sliced } from '../../domain/sliced.ts';

const SENTENCE_END = /\n|(?<=[.!?;])\s+|(?<=[。！？；])(?!\n|$)/u;
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|[\p{L}\p{N}_]{3,}/gu;
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** Characters of a word that are compared, so that forms of one word are equal: `delete`, `deleting`. */
const STEM_CHARS = 5;
/** Sentences of a text that are compared together. */
const SENTENCES_TOGETHER = 2;
/** Longer runs of words are cut: a sentence has seldom more. */
const MAX_SENTENCE_CHARS = 2_000;
const SENTENCES_A_SLICE = 64;

export function sentencesOf(text: string): string[] {
  return text.split(SENTENCE_END).filter((sentence) => sentence.trim() !== '');
}

/** Stems of a sentence's words. In scripts without spaces, every two characters count as a word. */
export function stemsOf(sentence: string): string[] {
  return (sentence.slice(0, MAX_SENTENCE_CHARS).toLowerCase().match(WORD) ?? []).flatMap((word) => {
    if (!UNSPACED.test(word)) return [word.slice(0, STEM_CHARS)];
    return Array.from({ length: Math.max(1, word.length - 1) }, (_, at) => word.slice(at, at + 2));
  });
}

export interface Statement {
  readonly stems: readonly string[];
  /** Minimum share of the stems that two sentences of a text must hold. */
  readonly share: number;
  /** If set, these sentences must match it, too. */
  readonly pattern?: RegExp;
}

/** Finds the statements that a text says in two sentences that follow each other. */
export function* findSaid(statements: readonly Statement[], texts: readonly string[]): Sliced<Set<Statement>> {
  const said = new Set<Statement>();
  if (statements.length === 0) return said;
  for (const text of texts) {
    const sentences = sentencesOf(text);
    for (const [index, last] of sentences.entries()) {
      const together = sentences.slice(Math.max(0, index + 1 - SENTENCES_TOGETHER), index).concat(last);
      const held = together.flatMap(stemsOf);
      for (const statement of statements)
        if (!said.has(statement) && isHeld(statement, held, together.join(' '))) said.add(statement);
      if (index % SENTENCES_A_SLICE === 0) yield;
    }
    yield;
  }
  return said;
}

function isHeld({ stems, share, pattern }: Statement, held: readonly string[], sentences: string): boolean {
  if (stems.length === 0 || pattern?.test(sentences) === false) return false;
  const known = stems.filter((stem) => held.some((other) => isSameWord(stem, other)));
  return known.length >= share * stems.length;
}

/** `log` and `logs` are one word. */
function isSameWord(a: string, b: string): boolean {
  return a === b || (a.length > 2 && b.length > 2 && (a.startsWith(b) || b.startsWith(a)));
}
