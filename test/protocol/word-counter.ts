import type { TokenCounter } from '../../src/domain/ports/token-counter.ts';

/** A token a word: at once and the same however busy the machine is, where the real counter gives way by the clock. */
export const WORD_COUNTER: TokenCounter = {
  longestTokenBytes: 64,
  count: async (text) => wordsOf(text).length,
  countSync: (text) => wordsOf(text).length,
  clipStart: async (text, maxTokens) => wordsOf(text).slice(0, maxTokens).join(''),
  clipEnd: async (text, maxTokens) => (maxTokens === 0 ? '' : wordsOf(text).slice(-maxTokens).join('')),
};

function wordsOf(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}
