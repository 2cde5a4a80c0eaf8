import type { Message } from '../../../src/domain/message.ts';
import { findCallIdentifiers, findIdentifiers, findPlainWords } from '../../../src/evaluation/quality/identifiers.ts';

export interface Recording {
  readonly id: string;
  /** Source of the conversation. Conversations of one source share vocabulary, such as names of tools. */
  readonly group: string;
  readonly messages: readonly Message[];
}

/** Minimum conversations from which frequencies can be computed. */
const MIN_CONVERSATIONS = 7;
/** Maximum share of the conversations of a group. An identifier in a larger share is common. */
const MAX_SHARE_OF_GROUP = 0.2;
const MAX_SHARE_OF_ALL = 0.05;
const MAX_SHARE_OF_RARE_WORD = 0.02;
/** A text in at most this many conversations is rare in any corpus. */
const ALWAYS_RARE = 2;

/**
 * Counts the conversations with each identifier. An identifier in many conversations belongs to the task, not to one
 * conversation.
 */
export class Corpus {
  readonly #size: number;
  readonly #counts = new Map<string, number>();
  readonly #groups = new Map<string, { size: number; readonly counts: Map<string, number> }>();

  constructor(recordings: readonly Recording[]) {
    this.#size = recordings.length;
    for (const { group, messages } of recordings) {
      const entry = this.#groups.get(group) ?? { size: 0, counts: new Map<string, number>() };
      this.#groups.set(group, entry);
      entry.size += 1;
      for (const text of vocabularyOf(messages)) {
        entry.counts.set(text, (entry.counts.get(text) ?? 0) + 1);
        this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
      }
    }
  }

  isCommon(identifier: string, group: string): boolean {
    const { size, counts } = this.#groups.get(group) ?? { size: 0, counts: this.#counts };
    if (size >= MIN_CONVERSATIONS)
      return (counts.get(identifier) ?? 0) > Math.max(ALWAYS_RARE, MAX_SHARE_OF_GROUP * size);
    if (this.#size < MIN_CONVERSATIONS) return false;
    return (this.#counts.get(identifier) ?? 0) > MAX_SHARE_OF_ALL * this.#size;
  }

  isRareWord(word: string): boolean {
    return (this.#counts.get(word) ?? 0) <= Math.max(ALWAYS_RARE, MAX_SHARE_OF_RARE_WORD * this.#size);
  }
}

function vocabularyOf(messages: readonly Message[]): Set<string> {
  const texts = new Set<string>();
  for (const { content, toolCalls = [] } of messages) {
    for (const identifier of findIdentifiers(content).keys()) texts.add(identifier);
    for (const word of findPlainWords(content)) texts.add(word);
    for (const call of toolCalls) {
      for (const identifier of findCallIdentifiers(call).keys()) texts.add(identifier);
      texts.add(call.name);
    }
  }
  return texts;
}
