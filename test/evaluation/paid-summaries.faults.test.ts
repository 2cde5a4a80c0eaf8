import { describe, expect, test } from 'vitest';
import { hasTraces, type RecordedConversation, readConversationFiles } from '../wire/traces.ts';
import { findUnused, openReplay } from './replayed.ts';

/** The policy of the README, and a smaller one. The window is twice the threshold. */
const POLICIES = [
  { tokenThreshold: 12_000, maxTokens: 6_000 },
  { tokenThreshold: 5_000, maxTokens: 4_000 },
];
/** Longest conversations of each file that are replayed. All of them take minutes. */
const MAX_CONVERSATIONS = 1;
const MAX_CHARS = 300_000;

function longestOf(conversations: readonly RecordedConversation[]): RecordedConversation[] {
  const charsOf = ({ messages }: RecordedConversation): number =>
    messages.reduce((sum, { content }) => sum + content.length, 0);
  return conversations
    .filter((conversation) => charsOf(conversation) <= MAX_CHARS)
    .toSorted((a, b) => charsOf(b) - charsOf(a))
    .slice(0, MAX_CONVERSATIONS);
}

describe.skipIf(!hasTraces)('live replay of recorded conversations (skipped without ../shared/traces)', () => {
  test.each(POLICIES)(
    'every summary that a compaction pass requested is used in its context, with threshold $tokenThreshold and maxTokens $maxTokens',
    async (policy) => {
      const replay = await openReplay(policy, { usableTokens: 2 * policy.tokenThreshold });
      let written = 0;
      for (const { conversations } of readConversationFiles()) {
        for (const { id, messages } of longestOf(conversations)) {
          for (const pass of (await replay(messages)).passes) {
            written += pass.written.length;
            expect({ id, at: pass.messages, unused: findUnused(pass) }).toEqual({ id, at: pass.messages, unused: [] });
          }
        }
      }
      expect(written).toBeGreaterThan(10);
    },
  );
});
