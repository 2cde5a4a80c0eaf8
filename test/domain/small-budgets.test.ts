import { describe, expect, test } from 'vitest';
import type { PassPlan } from '../../src/domain/pass-plan.ts';
import { planLine } from './passes.ts';

function planSmall(line: string, maxTokens: number): PassPlan {
  return planLine(line, { policy: { maxTokens }, reasons: ['manual'] });
}

describe('a budget with less than 600 tokens for messages', () => {
  test('short messages stay or go as a whole, and no summary is paid for', () => {
    const plan = planSmall('(u:20 a:20)x40', 300);
    expect(plan).toMatchObject({ kind: 'evict', sequences: [] });
    expect(plan.evict.length).toBeGreaterThan(0);
  });

  test('longer messages are replaced by one summary, together with the user messages between them', () => {
    const plan = planSmall('u:20 (a:200 u:20)x8', 500);
    expect(plan).toMatchObject({ kind: 'summarize', sequences: [{ from: 1 }] });
    expect(plan.sequences).toHaveLength(1);
  });

  test('a run with an old summary is summarized again, even if its messages are short', () => {
    expect(planSmall('S:100 (u:20 a:20)x30', 500).kind).toBe('summarize');
  });

  test('with room for 600 tokens, short messages are summarized and user messages stay in place', () => {
    const plan = planSmall('u:20 (a:30 a:30 a:30 a:30 a:30 a:30 a:30 a:30 a:30 a:30 u:20)x4', 1_000);
    expect(plan).toMatchObject({ kind: 'summarize' });
  });
});
