import { describe, expect, test } from 'vitest';
import { maskSettled, settledLine } from './passes.ts';

const MAX_TOKENS = 1_000;
const policy = { maxTokens: MAX_TOKENS, retentionWindow: 2, keepFirstUser: false, minSequenceTokens: 90_000 };

describe('a context that lost more than its budget needed', () => {
  test('gets evicted messages back after a large message of the retention window has left, too', () => {
    const line = 'su(a:90)x12 u a:1500 a:10';
    const settled = settledLine(line, { policy, reasons: ['manual'] });
    expect(settled.isFloorRelaxed).toBe(true);
    expect(settled.tokensAfter).toBeGreaterThanOrEqual(0.7 * MAX_TOKENS);
    expect(settled.tokensAfter).toBeLessThanOrEqual(MAX_TOKENS);
    expect(maskSettled(line, settled)).toMatch(/^su\.+a{8,}u\.a$/);
  });

  test('does not get back messages of the retention window that are older than one that left', () => {
    const line = 'su u:20 a:300 a:20 u a:980 a:20';
    const window = { ...policy, retentionWindow: 6 };
    expect(maskSettled(line, settledLine(line, { policy: window, reasons: ['manual'] }))).toBe('su...u.a');
  });

  test('counts a step that gave back as much as an earlier one took together with that one', () => {
    const settled = settledLine('su(a:90)x12 u a:1500 a:10', { policy, reasons: ['manual'] });
    const sizes = settled.steps.map(({ tokens }) => tokens);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(sizes.length);
  });

  test('starts with an answer if it did so before, and would otherwise lose almost everything', () => {
    const line = '(a:100)x20 u a:10';
    const evicting = { ...policy, strategy: { evict: 0.6 } };
    const settled = settledLine(line, { policy: evicting, reasons: ['ratio'] });
    expect(settled.tokensAfter).toBeGreaterThanOrEqual(0.7 * MAX_TOKENS);
    // Without a budget, the cut goes on to a user message.
    const { maxTokens: _, ...unbounded } = evicting;
    expect(maskSettled(line, settledLine(line, { policy: unbounded }))).toBe(`${'.'.repeat(20)}ua`);
  });

  test('loses one more message if a pinned one comes first and needs a placeholder', () => {
    // 3 framing + 14 pinned + 4 + 24 + 26 + 11 are within 90 tokens, but not with the 12 of the placeholder.
    const line = 'u:90 a:14! u:4 a:26 a:11 u:24';
    const setting = { policy: { ...policy, maxTokens: 90, retentionWindow: 0 }, reasons: ['manual' as const] };
    expect(settledLine(line, setting).tokensAfter).toBeLessThanOrEqual(90);
  });
});
