import { describe, expect, test } from 'vitest';
import { showWhole } from '../../src/compaction/give-back.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { contextOf } from './alphabet.ts';
import { maskSettled, requestOver, settledLine } from './passes.ts';

const MAX_TOKENS = 1_000;
const policy = { maxTokens: MAX_TOKENS, retentionWindow: 2, keepFirstUser: false, minSequenceTokens: 90_000 };

describe('giving messages back to a context that lost more than its budget needed', () => {
  test('a pass gives evicted messages back if a large message of the retention window had to leave as well', () => {
    const line = 'su(a:90)x12 u a:1500 a:10';
    const settled = settledLine(line, { policy, reasons: ['manual'] });
    expect(settled.isFloorRelaxed).toBe(true);
    expect(settled.tokensAfter).toBeGreaterThanOrEqual(0.7 * MAX_TOKENS);
    expect(settled.tokensAfter).toBeLessThanOrEqual(MAX_TOKENS);
    expect(maskSettled(line, settled)).toMatch(/^su\.+a{8,}u\.a$/);
  });

  test('a pass does not give back a message of the retention window if a newer message of the window was evicted', () => {
    const line = 'su u:20 a:300 a:20 u a:980 a:20';
    const window = { ...policy, retentionWindow: 6 };
    expect(maskSettled(line, settledLine(line, { policy: window, reasons: ['manual'] }))).toBe('su...u.a');
  });

  test('a pass joins a step that gives messages back with the step that removed them, so that the sizes of its steps only fall', () => {
    const settled = settledLine('su(a:90)x12 u a:1500 a:10', { policy, reasons: ['manual'] });
    const sizes = settled.steps.map(({ tokens }) => tokens);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(sizes.length);
  });

  test('a pass with a budget may leave an assistant message first, if the context started so and would otherwise lose almost everything', () => {
    const line = '(a:100)x20 u a:10';
    const evicting = { ...policy, strategy: { evict: 0.6 } };
    const settled = settledLine(line, { policy: evicting, reasons: ['ratio'] });
    expect(settled.tokensAfter).toBeGreaterThanOrEqual(0.7 * MAX_TOKENS);
    // Without a budget, the cut goes on to a user message.
    const { maxTokens: _, ...unbounded } = evicting;
    expect(maskSettled(line, settledLine(line, { policy: unbounded }))).toBe(`${'.'.repeat(20)}ua`);
  });

  test('a pass gives a user message back before the answers to this message', () => {
    // Everything leaves for the large answer. The newest answers fit again first, but need a user message before them.
    const line = 'su:20 a:300 a:300 u:30 a:300 a:300 u a:2000 a:10';
    const settled = settledLine(line, { policy, reasons: ['manual'] });
    expect(maskSettled(line, settled)).toBe('su.auaau.a');
  });

  test('a pass that restores messages stays within the token budget, the placeholder at the start of the context included', () => {
    const line = 'a:95 a:95 u:300 a:300 a:300 u:30 a:2000 a:10';
    const settled = settledLine(line, { policy, reasons: ['manual'] });
    expect(settled.tokensAfter).toBeGreaterThanOrEqual(0.7 * MAX_TOKENS);
    expect(settled.tokensAfter).toBeLessThanOrEqual(MAX_TOKENS);
  });

  test('a pass removes one more message if a pinned message comes first and the placeholder for it needs room', () => {
    // 3 framing + 14 pinned + 4 + 24 + 26 + 11 are within 90 tokens, but not with the 12 of the placeholder.
    const line = 'u:90 a:14! u:4 a:26 a:11 u:24';
    const setting = { policy: { ...policy, maxTokens: 90, retentionWindow: 0 }, reasons: ['manual' as const] };
    expect(settledLine(line, setting).tokensAfter).toBeLessThanOrEqual(90);
  });
});

test('showWhole shows shortened messages in full while they fit the budget, the smallest message first', () => {
  const { items } = contextOf('u:10 a:500 a:100 a:80');
  const request = requestOver(contextOf('u:10 a:500 a:100 a:80'), { policy: { maxTokens: 300 }, reasons: ['ratio'] });
  const shortened = items.slice(1).map((item): ContextItem => ({ ...item, tokens: 20, bytes: 80 }));
  const whole = new Map(shortened.map((item, index) => [item, items[index + 1] as ContextItem]));
  const shown = showWhole([items[0] as ContextItem, ...shortened], whole, request);
  expect(shown.map(({ tokens }) => tokens)).toEqual([10, 20, 100, 80]);
  expect(showWhole(shown.slice(0, 2), whole, request)).toEqual(shown.slice(0, 2));
});
