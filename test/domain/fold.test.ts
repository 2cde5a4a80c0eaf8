import { describe, expect, test } from 'vitest';
import { maskPlan, planLine } from './passes.ts';

const policy = { retentionWindow: 2, maxTokens: 600 };
const plan = (line: string) => planLine(line, { policy, reasons: ['ratio'] });

describe('old pairs of a user message and its summary', () => {
  test('a plan folds the older half of eight user–summary pairs if nothing else can be summarized', () => {
    const line = 's u (uS)x8 u a';
    expect(maskPlan(line, plan(line))).toBe('su11111111uSuSuSuSua');
  });

  test('a plan does not fold seven user–summary pairs', () => {
    const line = 's u (uS)x7 u a';
    expect(plan(line).sequences).toEqual([]);
  });

  test('a fold includes the summary of the earlier fold', () => {
    const line = 's u S (uS)x9 u a';
    expect(maskPlan(line, plan(line))).toBe('su111111111uSuSuSuSuSua');
  });

  test('a fold waits for other sequences, unless summaries would exceed a quarter of the budget', () => {
    const line = 's u (uS)x8 u a:200 a:200 u a';
    const sequences = (maxTokens: number) =>
      planLine(line, { policy: { ...policy, maxTokens }, reasons: ['ratio'] }).sequences.map(({ from, to }) => [
        from,
        to,
      ]);
    // 80 tokens of summaries, and 100 for 400 new tokens.
    expect(sequences(720)).toEqual([[20, 21]]);
    expect(sequences(700)).toEqual([
      [3, 10],
      [20, 21],
    ]);
    expect(sequences(400)).toEqual([
      [3, 14],
      [20, 21],
    ]);
  });

  test('a plan with scope prefix does not fold pairs that its sequence contains anyway', () => {
    const line = 's u (uS)x8 u a:200 a:200 u a';
    const prefix = { ...policy, maxTokens: 400, scope: 'prefix' } as const;
    const { sequences } = planLine(line, { policy: prefix, reasons: ['ratio'] });
    expect(sequences.map(({ from, to }) => [from, to])).toEqual([[2, 21]]);
  });

  test('a plan does not fold pairs that are separated by a message or partly protected', () => {
    expect(plan('s u (uS)x4 u a (uS)x4 u a').sequences).toEqual([]);
    expect(plan('s u (uS)x4 u! S (uS)x4 u a').sequences).toEqual([]);
  });
});
