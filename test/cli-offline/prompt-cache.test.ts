import { describe, expect, test } from 'vitest';
import type { ContextItem } from '../../src/domain/version.ts';
import { PromptCache } from '../../src/evaluation/prompt-cache.ts';

/** A million tokens each, so that costs are prices. */
const M = 1_000_000;
const prices = { input: 10, cachedInput: 1, cacheWrite: 12, output: 50 };

function item(seq: number, content = `message ${seq}`): ContextItem {
  return { from: seq, to: seq, tokens: M, bytes: M, message: { role: 'user', content } };
}

describe('cost of requests', () => {
  test('the cost estimate counts the prefix of the previous request as read from the prompt cache, and the rest as written', () => {
    const cache = new PromptCache(prices);
    const items = [item(1), item(2)];
    cache.add(items, 2 * M, 0);
    expect(cache.cost).toStrictEqual({ withCache: 24, withoutCache: 20 });
    items.push(item(3));
    cache.add(items, 3 * M, M);
    expect(cache.cost).toStrictEqual({ withCache: 24 + 2 + 12 + 50, withoutCache: 20 + 30 + 50 });
  });

  test('the cost estimate counts only the part before the first change as read from the prompt cache when the context has a new version', () => {
    const cache = new PromptCache(prices);
    cache.add([item(1), item(2), item(3)], 3 * M, 0);
    const before = cache.cost.withCache;
    cache.add([item(1), item(2, 'a summary'), item(3)], 3 * M, 0);
    expect(cache.cost.withCache - before).toBe(1 + 2 * 12);
  });
});
