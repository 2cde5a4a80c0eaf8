import { describe, expect, test } from 'vitest';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  suggestUsableTokens,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';
import { Replay } from '../../src/evaluation/replay.ts';
import { takeShare } from '../setup/count-runs.ts';
import { hasTraces, readConversationFiles } from '../wire/traces.ts';

/** Tokens, of which each file takes one. The threshold is 1.3 times as large, the window twice as large. */
const BUDGETS = [4_000, 8_000, 16_000];

async function replayUnder(maxTokens: number) {
  const policy = { maxTokens, tokenThreshold: Math.round(maxTokens * 1.3) };
  const prepared = await prepareOfflineAgent(policy, { usableTokens: suggestUsableTokens(policy) });
  const summarizers = await createOfflineSummarizers();
  return async (messages: Parameters<typeof weighConversation>[0]) => {
    const weighed = await weighConversation(messages, prepared);
    const replay = new Replay(weighed, prepared, summarizers);
    for (const message of weighed) await replay.add(message);
    const { figures } = await replay.end();
    const isLarge = weighed.reduce((sum, { tokens }) => sum + tokens, 0) >= policy.tokenThreshold;
    return { ...figures, isLarge };
  };
}

describe.skipIf(!hasTraces)('recorded conversations (skipped without ../shared/traces)', () => {
  const files = readConversationFiles().map((file, index) => ({
    ...file,
    maxTokens: BUDGETS[index % BUDGETS.length] ?? 0,
  }));

  test.each(files)(
    'turnfold replay of $name at $maxTokens tokens keeps requests valid and within the limit, and keeps no fewer values than a plain window',
    async ({ conversations, maxTokens }) => {
      const replay = await replayUnder(maxTokens);
      const known = { compacted: 0, window: 0 };
      for (const { id, messages } of takeShare(conversations)) {
        const { overLimit, invalid, compactions, recall, isLarge } = await replay(messages);
        expect({ id, overLimit, invalid }).toEqual({ id, overLimit: 0, invalid: 0 });
        if (isLarge) expect({ id, compactions }).not.toEqual({ id, compactions: 0 });
        for (const kind of ['compacted', 'window'] as const) known[kind] += Math.round(recall[kind] * recall.needles);
      }
      expect(known.compacted).toBeGreaterThanOrEqual(known.window);
    },
  );
});
