import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { layOutRuns, planRuns, presentRuns, type Run, sumRuns } from '../../inspector/src/trial/plan-strip.ts';

const entries = Array.from({ length: 10 }, (_, index) => ({
  seq: index + 1,
  tokens: 10,
  state: index < 2 ? 'archived' : 'live',
}));

test('the plan strip divides the log into runs of messages with the same outcome in the plan', () => {
  const plan = {
    summarize: [{ from: 3, to: 4 }],
    evict: [{ from: 6, to: 6 }],
    mask: [{ from: 7, to: 8 }],
    protected: [7, 10],
  };
  expect(planRuns(entries, plan).map(({ kind, from, to }) => `${from}-${to} ${kind}`)).toEqual([
    '1-2 gone',
    '3-4 summarize',
    '5-5 keep',
    '6-6 evict',
    '7-8 mask',
    '9-9 keep',
    '10-10 protect',
  ]);
});

test('a plan that does nothing keeps every message of the context', () => {
  const runs = planRuns(entries, { summarize: [], evict: [], mask: [], protected: [] });
  expect(Object.fromEntries(sumRuns(runs))).toEqual({
    gone: { messages: 2, tokens: 20 },
    keep: { messages: 8, tokens: 80 },
  });
});

test('the strip of the current context draws each message of the plan in its state before the compaction', () => {
  const [, , third, ...rest] = entries;
  const present = [
    { seq: 2, tokens: 10, state: 'archived' },
    { ...third, seq: 3, tokens: 10, state: 'summarized' },
    ...rest,
  ];
  const plan = planRuns(present, { summarize: [{ from: 3, to: 5 }], evict: [], mask: [], protected: [] });
  const show = (hasGone: boolean): string[] =>
    presentRuns(present, plan, hasGone).map(({ kind, from, to }) => `${from}-${to} ${kind}`);
  expect(show(false)).toEqual(['3-3 summarized', '4-10 live']);
  expect(show(true)).toEqual(['2-2 archived', '3-3 summarized', '4-10 live']);
});

test('a summary that is merged into a new summary counts as summarized', () => {
  const summarized = [{ seq: 1, tokens: 5, state: 'summarized' }];
  const plan = { summarize: [{ from: 1, to: 1 }], evict: [], mask: [], protected: [] };
  expect(planRuns(summarized, plan)).toEqual([{ kind: 'summarize', from: 1, to: 1, messages: 1, tokens: 5 }]);
});

test('the plan strip draws any number of runs in order, without gaps, in at most one block for each column', () => {
  const kinds = fc.constantFrom('keep', 'evict', 'summarize');
  fc.assert(
    fc.property(fc.array(fc.record({ kind: kinds, tokens: fc.nat(1_000) }), { maxLength: 2_000 }), (made) => {
      const runs = made.map(({ kind, tokens }, index): Run<string> => {
        const seq = index + 1;
        return { kind, tokens, from: seq, to: seq, messages: 1 };
      });
      const blocks = layOutRuns(runs, ({ tokens }) => tokens, 100);
      expect(blocks.length).toBeLessThanOrEqual(100);
      let end = 0;
      for (const { start, size } of blocks) {
        expect(start).toBeCloseTo(end, 6);
        expect(size).toBeGreaterThan(0);
        end = start + size;
      }
      expect(end).toBeCloseTo(runs.some(({ tokens }) => tokens > 0) ? 1 : 0, 6);
    }),
  );
});
