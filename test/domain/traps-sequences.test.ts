import { describe, expect, test } from 'vitest';
import type { Reason } from '../../src/domain/pass.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import { contextOf, logOf } from './alphabet.ts';
import { maskPlan, maskSettled, type PassSetting, planLine, settledLine, settleLine, takePass } from './passes.ts';

const all: PassSetting = { policy: { retentionWindow: 0 } };
const overLimit: PassSetting = {
  policy: { retentionWindow: 0, maxTokens: 100, keepFirstUser: false },
  reasons: ['token_threshold'],
};

interface Row {
  readonly name: string;
  readonly line: string;
  readonly setting?: PassSetting;
  /** The line with a digit for each message that the first, second, … summary replaces. */
  readonly plan: string;
}

const rows: readonly Row[] = [
  { name: 'tool rounds are summarized', line: 'su(t:50 r:50)x4 a:50', plan: 'su111111111' },
  {
    name: 'a tool round that was followed by a summary counts as read',
    line: 'su t1:200 u r1:200 S:100 u',
    setting: { policy: { retentionWindow: 0, maxTokens: 300 }, reasons: ['ratio'] },
    plan: 's11111u',
  },
  {
    name: 'tool results that the model has not read yet are not summarized',
    line: 'su(t:200 r:200)x2',
    plan: 'su11tr',
  },
  { name: 'tool rounds are summarized whole', line: 'su t:80 t:80 r:80 r:80 a:80', plan: 'su11111' },
  { name: 'the retention window keeps the latest answer by default', line: 'su(a:200)x3', setting: {}, plan: 'suaaa' },
  { name: 'a retention window of 0 permits a summary of the latest answer', line: 'su(a:200)x3', plan: 'su111' },
  { name: 'user messages separate the summarized ranges', line: 'su(a:200)x2 u(a:200)x2', plan: 'su11u22' },
  { name: 'the last user message stays after the summary', line: 'su(a:200)x2 u', plan: 'su11u' },
  {
    name: 'if the context is over the limit and no range can be summarized, messages are evicted',
    line: 'su a:200 u a:200 u a',
    setting: { ...overLimit, policy: { ...overLimit.policy, minSequenceMessages: 9 } },
    plan: 'su.u.ua',
  },
  {
    name: 'a tool round that a user message interrupts is not summarized',
    line: 'su t:200 a:200 u r:200 a:200 a:200',
    plan: 'sutaur11',
  },
  {
    name: 'a tool round inside an interrupted round is still summarized',
    line: 'su t1:200 t2:200 r2:200 u r1:200 a:9',
    plan: 'sut11ura',
  },
  {
    name: 'a tool round that is left out also excludes the rounds around it that would be split',
    line: 'su t1:90 t2:90 r1:90 t3:90 r2:90 u r3:90 a:300 a',
    plan: 'suttrtrur11',
  },
  {
    name: 'if user messages exceed their share of the budget, one range takes them, too',
    line: 'su a:200 u a:200 u a',
    setting: overLimit,
    plan: 's1111ua',
  },
  { name: 'a tool round with unanswered calls is not summarized', line: 'su a:200 a:200 t:200', plan: 'su11t' },
];

describe('sequences: what earlier systems got wrong', () => {
  test.each(rows)('$name: the compaction plan for the history $line is $plan', ({ line, setting, plan }) => {
    expect(maskPlan(line, planLine(line, setting ?? all))).toBe(plan);
  });

  test.each<{ line: string; reasons: Reason[]; plan: string; kind: string }>([
    { line: 'su S:300 a:100 a:100', reasons: ['turn_threshold'], plan: 'suSaa', kind: 'none' },
    { line: 'su S:300 a:150 a:150', reasons: ['turn_threshold'], plan: 'su111', kind: 'summarize' },
    { line: 'su S:300 a:128 a:128', reasons: ['ratio'], plan: 'su111', kind: 'summarize' },
    { line: 'su S:300 a:100 a:100', reasons: ['ratio'], plan: 'suS..', kind: 'evict' },
    { line: 'su S:300 S:300', reasons: ['turn_threshold'], plan: 'su.S', kind: 'evict' },
  ])(
    'for the reasons $reasons, the plan for the history $line is $kind: an old summary is merged only with enough new messages',
    ({ line, reasons, plan, kind }) => {
      const planned = planLine(line, { policy: { retentionWindow: 0, strategy: { evict: 0.3 } }, reasons });
      expect(maskPlan(line, planned)).toBe(plan);
      expect(planned.kind).toBe(kind);
      expect(planned.explained).toStrictEqual(kind === 'none' ? ['waiting_run'] : []);
    },
  );

  test('a range with too few new messages stays in the context, while the compaction summarizes the other ranges', () => {
    const waiting = 'su a:200 u S:300 a:100';
    expect(planLine(waiting, all)).toMatchObject({ kind: 'none', explained: ['waiting_run'] });
    const both = 'su(a:200)x2 u S:300 a:100';
    expect(maskPlan(both, planLine(both, all))).toBe('su11uSa');
  });

  test('a range with too few messages or too few tokens stays in the context without a summary', () => {
    expect(planLine('su a:300', all).sequences).toStrictEqual([]);
    expect(planLine('su a:127 a:128', all).sequences).toStrictEqual([]);
    expect(planLine('su a:128 a:128', all).sequences).toMatchObject([{ from: 3, to: 4, tokens: 256 }]);
  });
});

describe('summaries: what earlier systems got wrong', () => {
  test('if the third of five summaries fails, compaction uses the other four', () => {
    const line = 's(u a:200 a:200)x5';
    const settled = settledLine(line, all, [50, 50, undefined, 50, 50]);
    expect(maskSettled(line, settled)).toBe('su11u22uaau33u44');
    expect(settled.summaryKeys).toStrictEqual(['text-3-4', 'text-6-7', 'text-12-13', 'text-15-16']);
    expect(settled.explained).toStrictEqual(['summaries_missing']);
    expect(settled.tokensAfter).toBe(settled.tokensBefore - 4 * 350);
  });

  test.each([400, 401, 800])('compaction ignores a summary of %i tokens for messages of 400 tokens', (tokens) => {
    expect(settleLine('su(a:200)x2', all, [tokens])).toStrictEqual({ kind: 'none' });
    expect(maskSettled('su(a:200)x2', settledLine('su(a:200)x2', all, [300]))).toBe('su11');
  });

  test('several summaries of one long turn are later merged into one', () => {
    let story = { version: START_VERSION, entries: logOf('su'), summaries: new Map() } as Parameters<
      typeof takePass
    >[0];
    const sizes: number[] = [];
    for (let rounds = 1; rounds <= 10; rounds += 1) {
      story = { ...story, entries: logOf(`su(t:150 r:150)x${rounds}`) };
      const taken = takePass(story, { ...all, summarize: (sequence) => Math.min(200, sequence.tokens - 1) });
      story = taken.story;
      sizes.push(story.version.segments.length);
    }
    expect(story.version.segments.map(({ kind, from, to }) => [kind, from, to])).toStrictEqual([
      ['raw', 1, 2],
      ['summary', 3, 20],
      // The model has not read this tool result yet.
      ['raw', 21, 22],
    ]);
    expect(Math.max(...sizes)).toBe(3);
  });

  test('if no summary arrives and the context is over the limit, compaction evicts messages and reports the missing summaries', () => {
    const line = 'su(a:200)x2 u';
    const settled = settledLine(line, { policy: { retentionWindow: 0, maxTokens: 100 }, reasons: ['ratio'] });
    expect(settled).toMatchObject({ strategy: 'evict', explained: ['summaries_missing'] });
    expect(maskSettled(line, settled)).toBe('su..u');
  });

  test('a tool round with eight parallel calls is summarized as one range', () => {
    const line = 'su t{1,2,3,4,5,6,7,8}:100 (r:100)x8 u a';
    expect(contextOf(line).items).toHaveLength(13);
    expect(maskPlan(line, planLine(line, { policy: { retentionWindow: 2 } }))).toBe('su111111111ua');
  });
});
