import { describe, expect, test } from 'vitest';
import { findPrefixEnd, measurePrefix } from '../../src/compaction/prefix.ts';
import { contextOf } from './alphabet.ts';
import { planLine, settledLine } from './passes.ts';

const policy = { retentionWindow: 2, keepFirstUser: false, maxTokens: 600 };
const reasons = ['token_threshold'] as const;
const LINE = 'sua:200 ua:200 ua:200 ua:200 ua:50';

describe('the unchanged start of a context (setting `keepPrefix`)', () => {
  test('a pass leaves the start of the context unchanged up to the share of the budget that `keepPrefix` sets', () => {
    const [none, half] = [0, 0.5].map((keepPrefix) =>
      settledLine(LINE, { policy: { ...policy, keepPrefix }, reasons: [...reasons] }),
    );
    expect(none?.prefix.kept.tokens).toBeLessThan(100);
    expect(half?.prefix.kept.tokens).toBeGreaterThanOrEqual(200);
    expect(half?.tokensAfter).toBeLessThanOrEqual(600);
    expect(none?.tokensAfter).toBeLessThanOrEqual(600);
  });

  test('a plan neither summarizes nor evicts a message in the start of the context that `keepPrefix` keeps', () => {
    const { sequences, evict } = planLine(LINE, { policy: { ...policy, keepPrefix: 0.5 }, reasons: [...reasons] });
    const first = Math.min(...[...sequences, ...evict].map(({ from }) => from));
    expect(first).toBeGreaterThan(3);
  });

  test('findPrefixEnd subtracts the messages that must stay from the budget before it takes the share `keepPrefix`', () => {
    const { items } = contextOf('ua:100 ua:100 u:500');
    expect(findPrefixEnd(items, { keepPrefix: 0, budget: 10_000 })).toBe(0);
    expect(findPrefixEnd(items, { keepPrefix: 0.5, budget: 610 })).toBe(0);
    expect(findPrefixEnd(items, { keepPrefix: 0.5, budget: 10_000 })).toBe(5);
  });

  test('measurePrefix reports the start of a context that a pass kept, and the start that the cheapest cut of equal size would keep', () => {
    const before = contextOf('ua:100 ua:100 ua:100').items;
    const [first, , ...rest] = before;
    const after = [...(first === undefined ? [] : [first]), ...rest.slice(2)];
    const { kept, cheapest } = measurePrefix(before, after, 2);
    expect(kept.tokens).toBe(10);
    expect(cheapest.tokens).toBeGreaterThanOrEqual(kept.tokens);
    expect(cheapest.tokens).toBeLessThanOrEqual(after.reduce((sum, { tokens }) => sum + tokens, 0));
  });
});
