import { describe, expect, test } from 'vitest';
import { PLACEHOLDER } from '../../src/compaction/budget.ts';
import { weighItems } from '../../src/compaction/context.ts';
import type { Reason } from '../../src/domain/pass.ts';
import { FIRST_TEXT } from '../../src/wire/arrange.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { contextOf } from './alphabet.ts';
import {
  acceptedSummary,
  maskSettled,
  type PassSetting,
  planLine,
  planPass,
  requestOver,
  settledLine,
  settleLine,
  settlePass,
} from './passes.ts';

const model = { windowTokens: 1_100, outputCapTokens: 100, upperBoundFactor: 1 };
const loose = { retentionWindow: 0, keepFirstUser: false };

describe('summaries in a version', () => {
  test('settling a compaction plan replaces messages by their summaries and reports segments and sizes', () => {
    expect(settledLine('su(a:200)x2 u(a:300)x2', { policy: loose }, [50, 60])).toStrictEqual({
      kind: 'version',
      strategy: 'summarize',
      segments: [
        { kind: 'raw', from: 1, to: 2, weight: { tokens: 20, bytes: 80 } },
        {
          kind: 'summary',
          from: 3,
          to: 4,
          version: 1,
          weight: { tokens: 50, bytes: 200 },
          summaryKey: 'text-3-4',
          depth: 1,
        },
        { kind: 'raw', from: 5, to: 5, weight: { tokens: 10, bytes: 40 } },
        {
          kind: 'summary',
          from: 6,
          to: 7,
          version: 1,
          weight: { tokens: 60, bytes: 240 },
          summaryKey: 'text-6-7',
          depth: 1,
        },
      ],
      weight: { tokens: 140, bytes: 560 },
      tokensBefore: 1_033,
      tokensAfter: 143,
      archived: 4,
      explained: [],
      isFloorRelaxed: false,
      isInputCut: false,
      prefix: { kept: { tokens: 20, bytes: 80 }, cheapest: { tokens: 20, bytes: 80 } },
      summaryKeys: ['text-3-4', 'text-6-7'],
      steps: [{ step: 'summarize', tokens: 140, bytes: 560 }],
    });
  });

  test('settling a compaction plan skips a summary of messages that are not in the context', () => {
    const request = requestOver(contextOf('su(a:200)x4'), { policy: loose });
    const plan = planLine('su(a:200)x4', { policy: loose });
    const strange = [
      { from: 3, to: 9 },
      { from: 4, to: 3 },
      { from: 1, to: 40 },
    ].map((range) => acceptedSummary(range, 1));
    expect(settlePass({ ...request, plan, summaries: strange })).toStrictEqual({ kind: 'none' });
  });

  test('settling a compaction plan never evicts a summary that it placed, even if the context stays too large', () => {
    const line = 'su a:150 a:150 u a u(a:200)x2 u';
    const setting: PassSetting = { policy: { retentionWindow: 0, maxTokens: 83 }, reasons: ['ratio'] };
    const request = requestOver(contextOf(line), setting);
    const sequences = [
      { from: 3, to: 4, tokens: 300, maxTokens: 150, userTokens: 0 },
      { from: 8, to: 9, tokens: 400, maxTokens: 200, userTokens: 0 },
    ];
    const summaries = sequences.map((sequence) => acceptedSummary(sequence, 50));
    const settled = settlePass({ ...request, plan: { ...planPass(request), kind: 'summarize', sequences }, summaries });
    if (settled.kind !== 'version') return expect.unreachable(settled.kind);
    expect(maskSettled(line, settled)).toBe('su11...22u');
    expect(settled).toMatchObject({ summaryKeys: ['text-3-4', 'text-8-9'], explained: ['retention_floor'] });
  });

  test('a compaction that no token limit requested leaves the context unchanged if no summary was written', () => {
    expect(settleLine('su(a:200)x2', { policy: loose }, [])).toStrictEqual({ kind: 'none' });
  });

  test('settling a compaction plan explains a size above maxTokens if no token limit was the reason for the compaction', () => {
    const policy = { ...loose, maxTokens: 50 };
    expect(settledLine('su(a:200)x2 u:200', { policy }, [50]).explained).toStrictEqual(['no_token_reason']);
  });
});

describe('the retention window against the token budget', () => {
  const line = 's(ua)x5';
  const policy = { retentionWindow: 4, maxTokens: 40 };

  test('settling a soft compaction plan leaves the retention window in place and names it as the reason for the size', () => {
    const settled = settledLine(line, { policy, reasons: ['ratio'] });
    expect(maskSettled(line, settled)).toBe('su.....uaua');
    expect(settled).toMatchObject({ explained: ['retention_floor'], isFloorRelaxed: false });
  });

  test.each<Reason>(['hard_limit', 'overflow', 'manual'])(
    'settling a compaction plan for %s removes the oldest messages of the retention window and reports it',
    (reason) => {
      const relax = (maxTokens: number) =>
        settledLine(line, { policy: { ...policy, maxTokens }, reasons: ['ratio', reason] });
      expect(maskSettled(line, relax(63))).toBe('su.....uaua');
      expect(relax(63).isFloorRelaxed).toBe(false);
      const masks = [53, 43, 33, 23].map((maxTokens) => maskSettled(line, relax(maxTokens)));
      expect(masks).toStrictEqual(['su......aua', 'su.......ua', 'su.......u.', 's........u.']);
      expect(relax(53)).toMatchObject({ isFloorRelaxed: true, explained: [], tokensAfter: 53 });
    },
  );
});

describe('compactions that cannot reach the token budget', () => {
  test('a hard compaction that fails lists the parts that remain after everything removable is gone', () => {
    const line = 's:30 u! a u:700 t:400';
    const policy = { retentionWindow: 3, maxTokens: 500 };
    const overhead = { tokens: 100, bytes: 0, calibration: 1 };
    const settled = settleLine(line, { policy, reasons: ['hard_limit'], model, overhead });
    expect(settled).toStrictEqual({
      kind: 'infeasible',
      details: { fixed: 100 + 30 + 3, pinned: 10, open: 1_100, floor: 0, max: 500 },
    });
  });

  test('a soft compaction that fails counts the retention window among the parts that remain', () => {
    const settled = settleLine('su:500 a:300', { policy: { maxTokens: 400 }, reasons: ['ratio'] });
    expect(settled).toStrictEqual({
      kind: 'infeasible',
      details: { fixed: 13, pinned: 0, open: 500, floor: 300, max: 400 },
    });
  });

  test('the parts in the report of a failed compaction are upper bounds that add up to the remaining request', () => {
    const overhead = { tokens: 107, bytes: 0, calibration: 1.07 };
    const window = { ...model, upperBoundFactor: 1.1 };
    const setting: PassSetting = { policy: { maxTokens: 300 }, reasons: ['manual'], model: window, overhead };
    const settled = settleLine('s:33 u:71! a u:303', setting);
    const mean = Math.round((33 + 71 + 303 + 107 + 3) * 1.07);
    expect(settled).toMatchObject({ kind: 'infeasible', details: { pinned: 83, open: 356, floor: 0, max: 300 } });
    const { fixed, pinned, open, floor } = (settled as Extract<typeof settled, { kind: 'infeasible' }>).details;
    expect(fixed + pinned + open + floor).toBe(Math.ceil(mean * 1.1));
  });

  test('a hard compaction that misses maxTokens still commits if the waiting turn’s request fits the model’s window', () => {
    const line = 's(u a:100)x3 u:600';
    const setting: PassSetting = {
      policy: { ...loose, maxTokens: 500, minSequenceMessages: 9 },
      reasons: ['hard_limit'],
      model,
    };
    const settled = settledLine(line, setting);
    expect(maskSettled(line, settled)).toBe('s......u');
    expect(settled).toMatchObject({ tokensAfter: 613, explained: ['nothing_removable'] });
  });

  test('a manual compaction that cannot reach maxTokens ends as infeasible', () => {
    const setting: PassSetting = { policy: { ...loose, maxTokens: 500 }, reasons: ['manual'], model };
    expect(settleLine('s(u a:100)x3 u:600', setting).kind).toBe('infeasible');
  });

  test('a hard compaction ends as infeasible if the request stays too large after all removable messages are gone', () => {
    const setting: PassSetting = { policy: { ...loose, maxTokens: 500 }, reasons: ['overflow'], model };
    expect(settleLine('s(u a:100)x3 u:1000', setting).kind).toBe('infeasible');
    const { model: _, ...unknown } = setting;
    expect(settleLine('s(u a:100)x3 u:600', unknown).kind).toBe('infeasible');
  });
});

describe('the minimum gain of a compaction', () => {
  const line = 'su(a:500)x2';
  const sizes = { tokensBefore: 1_023 };

  test('a soft compaction that gains less than minGain commits nothing', () => {
    expect(settleLine(line, { policy: loose }, [898])).toStrictEqual({ kind: 'no_gain', ...sizes, tokensAfter: 921 });
    expect(settleLine(line, { policy: loose }, [897])).toMatchObject({ kind: 'version', tokensAfter: 920 });
    expect(settleLine(line, { policy: { ...loose, minGain: 0 } }, [999])).toMatchObject({ kind: 'version' });
  });

  test('a hard compaction commits any smaller context, even if the gain is less than minGain', () => {
    const setting: PassSetting = { policy: loose, reasons: ['manual'] };
    expect(settleLine(line, setting, [999])).toMatchObject({ kind: 'version', tokensAfter: 1_022 });
  });

  test('a compaction commits no new version if it could remove only messages of zero tokens, not even a hard compaction', () => {
    const setting: PassSetting = { policy: { ...loose, strategy: { retain: 0 } }, reasons: ['manual'] };
    expect(settleLine('su:0 a:0 u', setting)).toMatchObject({ kind: 'no_gain', tokensBefore: 23, tokensAfter: 23 });
  });
});

describe('the placeholder before a context that starts with another role', () => {
  test('a version that needs the placeholder stays within maxTokens together with it', () => {
    const line = 's a:100! a:20 a:30 u:20';
    const most = (maxTokens: number) =>
      settledLine(line, { policy: { ...loose, maxTokens, minGain: 0 }, reasons: ['ratio'] });
    // 3 framing + 10 system + 100 pinned + 20 user = 133, and 12 for the placeholder.
    expect(maskSettled(line, most(175))).toBe('sa.au');
    expect(most(175).tokensAfter).toBe(175);
    expect(maskSettled(line, most(174))).toBe('saa.u');
    expect(most(174).tokensAfter).toBe(165);
  });

  test('a plan and a version count the placeholder in their sizes', () => {
    const line = 'a:100! (u:20 a:300 a:300)x2 u:20';
    const setting: PassSetting = { policy: { ...loose, maxTokens: 600 }, reasons: ['ratio'] };
    const settled = settledLine(line, setting);
    expect(planLine(line, setting).tokens).toBe(settled.tokensBefore);
    const segments = weighItems(settled.segments.map(({ weight }) => weight));
    expect(settled).toMatchObject({ weight: segments, placeholder: PLACEHOLDER });
    expect(settled.tokensAfter).toBe(3 + segments.tokens + PLACEHOLDER.tokens);
  });

  test('no summary is planned if it saves less than minGain of a size that includes the placeholder', () => {
    const policy = { ...loose, retentionWindow: 1, minSequenceTokens: 0, minGain: 0.1 };
    // 3 framing + 10 pinned + 210 + the last message. A summary of 200 tokens may have 100.
    const planOver = (last: number) => planLine(`a:10! u:10 a:100 a:100 u:${last}`, { policy });
    expect(planOver(765)).toMatchObject({ kind: 'summarize', tokens: 1_000 });
    expect(planOver(766)).toMatchObject({ kind: 'none', explained: ['no_gain'], tokens: 1_001 });
  });

  test('a hard compaction above its budget is infeasible if the placeholder outweighs what it could remove', () => {
    const setting: PassSetting = { policy: { ...loose, maxTokens: 100 }, model, reasons: ['hard_limit'] };
    expect(settleLine('u:5 a:200! u:10', setting)).toMatchObject({ kind: 'infeasible' });
  });

  test('the placeholder that rendering puts first is not larger than compaction assumes', async () => {
    for (const encoding of ['o200k_base', 'cl100k_base'] as const) {
      const counter = await loadTokenCounter(encoding);
      expect(counter.countSync(FIRST_TEXT) + 4).toBeLessThanOrEqual(PLACEHOLDER.tokens);
    }
    expect(Buffer.byteLength(FIRST_TEXT)).toBeLessThanOrEqual(PLACEHOLDER.bytes);
  });
});
