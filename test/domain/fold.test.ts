import { describe, expect, test } from 'vitest';
import { maskPlan, planLine } from './passes.ts';

const policy = { retentionWindow: 2, maxTokens: 600 };
const plan = (line: string) => planLine(line, { policy, reasons: ['ratio'] });

describe('old pairs of a user message and its summary', () => {
  test('the older four of eight pairs of user message and summary are merged if nothing else can be summarized', () => {
    const line = 's u (uS)x8 u a';
    expect(maskPlan(line, plan(line))).toBe('su11111111uSuSuSuSua');
  });

  test('seven pairs of user message and summary stay separate, because merging starts at eight', () => {
    const line = 's u (uS)x7 u a';
    expect(plan(line).sequences).toEqual([]);
  });

  test('merging old pairs of user message and summary includes the summary of an earlier merge', () => {
    const line = 's u S (uS)x9 u a';
    expect(maskPlan(line, plan(line))).toBe('su111111111uSuSuSuSuSua');
  });

  test('old pairs of user message and summary are merged if no other range can be summarized, or if summaries would exceed a quarter of maxTokens', () => {
    const line = 's u (uS)x8 u a:200 a:200 u a';
    const sequences = (maxTokens: number) =>
      planLine(line, { policy: { ...policy, maxTokens }, reasons: ['ratio'] }).sequences.map(({ from, to }) => [
        from,
        to,
      ]);
    // 80 tokens of old summaries, and 100 tokens to summarize 400 new ones.
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

  test('with the setting `scope: prefix`, old pairs of user message and summary are summarized as part of the one range, not merged separately', () => {
    const line = 's u (uS)x8 u a:200 a:200 u a';
    const prefix = { ...policy, maxTokens: 400, scope: 'prefix' } as const;
    const { sequences } = planLine(line, { policy: prefix, reasons: ['ratio'] });
    expect(sequences.map(({ from, to }) => [from, to])).toEqual([[2, 21]]);
  });

  test('pairs of user message and summary on two sides of a separating or protected message stay separate', () => {
    expect(plan('s u (uS)x4 u a (uS)x4 u a').sequences).toEqual([]);
    expect(plan('s u (uS)x4 u! S (uS)x4 u a').sequences).toEqual([]);
  });
});
