import type { Recording } from '../../bench/context/quality/corpus.ts';
import { partTexts } from '../../src/compaction/evidence/fragments.ts';
import { scanTerms } from '../../src/compaction/evidence/terms.ts';
import type { Message } from '../../src/domain/message.ts';

/** Conversations from which a group's own frequencies mean something. */
const MIN_GROUP = 7;
const MAX_SHARE_OF_GROUP = 0.2;
const MAX_SHARE_OF_ALL = 0.05;
const MAX_SHARE_OF_RARE_WORD = 0.02;
const ALWAYS_RARE = 2;
const PLAIN_WORD = /^\p{Ll}+$/u;
const MIN_RARE_WORD_CHARS = 5;

interface GroupCounts {
  size: number;
  readonly counts: Map<string, number>;
}

/**
 * Terms that many conversations of a group hold, and plain words that are not rare. Their use says nothing about one
 * conversation. The measure of contexts draws the same line.
 */
export class CommonTerms {
  readonly #size: number;
  readonly #counts = new Map<string, number>();
  readonly #groups = new Map<string, GroupCounts>();

  constructor(recordings: readonly Recording[]) {
    this.#size = recordings.length;
    for (const { group, messages } of recordings) {
      const ofGroup = this.#groups.get(group) ?? { size: 0, counts: new Map<string, number>() };
      this.#groups.set(group, ofGroup);
      ofGroup.size += 1;
      for (const term of new Set(messages.flatMap(termsOf))) {
        ofGroup.counts.set(term, (ofGroup.counts.get(term) ?? 0) + 1);
        this.#counts.set(term, (this.#counts.get(term) ?? 0) + 1);
      }
    }
  }

  has(term: string, group: string): boolean {
    const count = this.#counts.get(term) ?? 0;
    const isRareWord = count <= Math.max(ALWAYS_RARE, MAX_SHARE_OF_RARE_WORD * this.#size);
    if (PLAIN_WORD.test(term) && (term.length < MIN_RARE_WORD_CHARS || !isRareWord)) return true;
    const ofGroup = this.#groups.get(group);
    if (ofGroup === undefined || ofGroup.size < MIN_GROUP) return count > MAX_SHARE_OF_ALL * this.#size;
    return (ofGroup.counts.get(term) ?? 0) > Math.max(ALWAYS_RARE, MAX_SHARE_OF_GROUP * ofGroup.size);
  }
}

export function termsOf(message: Message): string[] {
  const terms: string[] = [];
  for (const { text } of partTexts(message)) scanTerms(text, 0, text.length, (term) => terms.push(term));
  return terms;
}
