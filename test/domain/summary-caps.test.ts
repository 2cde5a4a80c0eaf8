import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Run } from '../../src/compaction/sequences.ts';
import { capFolds, maxSummaryTokens } from '../../src/compaction/summary-caps.ts';
import { completePolicy } from '../../src/domain/policy.ts';
import { planLine } from './passes.ts';

const structural = completePolicy({});
const byModel = completePolicy({ summarizer: { models: ['m'] } });
const withCap = completePolicy({ summarizer: { models: ['m'], maxTokens: 300 } });

function runWith(sizes: Partial<Pick<Run, 'tokens' | 'newTokens' | 'userTokens'>>): Run {
  const tokens = sizes.tokens ?? 1_000;
  return {
    from: 1,
    to: 9,
    fromPosition: 0,
    toPosition: 8,
    messages: 9,
    tokens,
    newTokens: tokens,
    userTokens: 0,
    ...sizes,
  };
}

const runs = fc.array(
  fc
    .record({ users: fc.nat(5_000), others: fc.nat(50_000), summary: fc.oneof(fc.constant(0), fc.nat(5_000)) })
    .map(({ users, others, summary }) =>
      runWith({ tokens: users + others + summary, newTokens: users + others, userTokens: users }),
    ),
  { minLength: 1, maxLength: 12 },
);
const policies = fc.constantFrom(structural, byModel, withCap);

describe('token limits of summaries', () => {
  test.each([
    ['half of its source without a model', structural, runWith({ tokens: 10_000 }), 5_000],
    ['2,000 tokens by a model, and its tags', byModel, runWith({ tokens: 10_000 }), 2_036],
    ['half of a small source by a model', byModel, runWith({ tokens: 1_000 }), 500],
    ['the cap of the policy, and its tags', withCap, runWith({ tokens: 10_000 }), 336],
    ['an earlier summary in full and half of the rest', structural, runWith({ tokens: 1_000, newTokens: 600 }), 700],
    ['nothing for the words of users', structural, runWith({ tokens: 1_000, userTokens: 400 }), 300],
  ])('maxSummaryTokens allows a summary %s', (_, policy, run, most) => {
    expect(maxSummaryTokens(run, policy)).toBe(most);
  });

  test('capFolds keeps all summaries within the tokens for summaries and users, and none exceeds the limit of its source', () => {
    fc.assert(
      fc.property(runs, policies, fc.nat(40_000), fc.nat(10_000), (sequences, policy, summaries, users) => {
        const capped = capFolds(sequences, policy, { summaries, users });
        expect(capped.reduce((sum, { maxTokens }) => sum + maxTokens, 0)).toBeLessThanOrEqual(summaries + users);
        capped.forEach(({ maxTokens, userTokens }, index) => {
          const run = sequences[index] as Run;
          expect(maxTokens).toBeLessThanOrEqual(maxSummaryTokens(run, policy) + run.userTokens);
          expect(userTokens).toBeLessThanOrEqual(maxTokens);
        });
      }),
    );
  });

  test('a range between user messages gets no tokens for users’ words, unless it includes an earlier summary that may contain some', () => {
    const sequences = [runWith({ tokens: 1_000 }), runWith({ tokens: 1_000, newTokens: 500 })];
    const [fresh, merged] = capFolds(sequences, structural, { summaries: 9_000 });
    expect(fresh).toMatchObject({ maxTokens: 500, userTokens: 0 });
    expect(merged).toMatchObject({ maxTokens: 750, userTokens: 125 });
  });

  test('a larger range of messages gets a larger token limit for its summary', () => {
    const sequences = [runWith({ tokens: 3_000 }), runWith({ tokens: 1_000 })];
    const capped = capFolds(sequences, structural, { summaries: 1_000 });
    expect(capped.map(({ maxTokens }) => maxTokens)).toEqual([750, 250]);
  });
});

describe('the scope of summaries under a budget', () => {
  const line = (users: number) => `s(u:${users} a:400 a:400)x4 u a`;
  const setting = (maxTokens: number, scope?: 'prefix') =>
    ({ policy: { maxTokens, retentionWindow: 2, ...(scope && { scope }) }, reasons: ['manual'] }) as const;
  const sequencesOf = (users: number, maxTokens: number, scope?: 'prefix') =>
    planLine(line(users), setting(maxTokens, scope)).sequences.map(({ from, to }) => `${from}-${to}`);

  test('user messages stay in place if they fit the budget share of users', () => {
    // The newest answers before the last user message belong to the tail.
    expect(sequencesOf(20, 2_000)).toEqual(['3-4', '6-7', '9-10']);
  });

  test('one summary replaces all old messages, including user messages, if these exceed the budget share of users', () => {
    expect(sequencesOf(300, 1_200)).toEqual(['2-13']);
  });

  test('one summary replaces all old messages, including user messages, if several summaries would be too small', () => {
    expect(sequencesOf(10, 700)).toEqual(['2-13']);
  });

  test('with the setting `scope: prefix`, a summary always includes the user messages', () => {
    expect(sequencesOf(20, 2_000, 'prefix')).toEqual(['2-12']);
  });

  test('a summary that includes user messages keeps as many tokens for users’ words as the budget division gives them', () => {
    const { division, sequences } = planLine(line(300), setting(1_200));
    expect(sequences[0]?.userTokens).toBe(division?.users);
    expect(sequences[0]?.maxTokens).toBe((division?.users ?? 0) + (division?.summaries ?? 0));
  });
});

test('a soft compaction requests no summary that would save less than minGain', () => {
  const line = 's(u:2000 a:150 a:150)x1 u:3000 a:200 u a';
  const soft = { policy: { retentionWindow: 2 }, reasons: ['turn_threshold'] } as const;
  expect(planLine(line, soft)).toMatchObject({ kind: 'none', sequences: [], explained: ['no_gain'] });
  expect(planLine(line, { ...soft, policy: { ...soft.policy, minGain: 0 } })).toMatchObject({ kind: 'summarize' });
  expect(planLine(line, { ...soft, reasons: ['manual'] })).toMatchObject({ kind: 'summarize' });
});
