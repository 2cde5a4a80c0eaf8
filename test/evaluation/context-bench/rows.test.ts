import { describe, expect, test } from 'vitest';
import { BASELINES } from '../../../bench/context/baselines.ts';
import { LADDERS } from '../../../bench/context/ladder-rows.ts';
import { billRequest, playLive } from '../../../bench/context/live.ts';
import { maxTokensOf, measureRow } from '../../../bench/context/measure.ts';
import { preparePoint } from '../../../bench/context/points.ts';
import { Corpus } from '../../../bench/context/quality/corpus.ts';
import { findLargest, type Row, sumTokens, tokensOf } from '../../../bench/context/row.ts';
import { loadOtherSystems } from '../../../bench/context/systems/load.ts';
import { round, says, user } from '../quality/conversation.ts';

const results = Array.from({ length: 30 }, (_, index) => [
  ...round({ path: `src/part_${index}.ts` }, `line of part_${index}\n`.repeat(20)),
  says(`part_${index} is read`),
  user(`now check part_${index + 1}`),
]).flat();
const messages = [user('read all parts'), ...results, says('part_3 and part_27 of src/part_9.ts differ')];
const recording = { id: 'made', group: 'coding_made', messages, summaries: [] };
const cut = messages.length - 1;
const bench = preparePoint(recording, cut, new Corpus([recording]));
const maxTokens = 1_200;

const { rows: others, missing } = await loadOtherSystems();
const rows: readonly Row[] = [...BASELINES, ...LADDERS, ...others];

describe('rows of the context benchmark', () => {
  test.each(rows.map((row) => [row.name, row] as const))(
    'the benchmark row %s produces a context within the budget, with whole tool rounds',
    async (_, row) => {
      const measured = await measureRow(row, bench, maxTokens);
      expect(measured?.fill).toBeGreaterThan(0);
      expect(measured?.broken).not.toContain('budget');
      expect(measured?.broken).not.toContain('rounds');
    },
  );

  test('the context of the benchmark row `oracle` contains everything that the agent used later, and the row `window` contains less', async () => {
    const recallOf = async (name: string) =>
      (await measureRow(rows.find((row) => row.name === name) as Row, bench, maxTokens))?.recall ?? 0;
    expect(await recallOf('oracle')).toBe(1);
    expect(await recallOf('window')).toBeLessThan(1);
  });

  test.skipIf(missing.length > 0)(
    'other compaction systems do not change messages that fit the budget (skipped without their packages)',
    async () => {
      for (const { name, compact } of others) {
        if (name.includes('summarization')) continue;
        const context = await compact(bench, 1_000_000);
        expect({ name, context }).toEqual({ name, context: bench.point.source });
      }
    },
  );
});

describe('budgets of the context benchmark', () => {
  test('a benchmark budget below 1 is a share of the source, and a larger budget is in tokens and applies to long sources only', () => {
    expect(maxTokensOf(0.2, 1_234)).toBe(246);
    expect(maxTokensOf(2_000, 20_000)).toBe(2_000);
    expect(maxTokensOf(2_000, 19_999)).toBeUndefined();
  });

  test('findLargest returns the largest number that passes a check', async () => {
    const largest = (most: number, limit: number) => findLargest(most, async (value) => value <= limit);
    expect(await Promise.all([largest(10, 7), largest(10, 20), largest(10, -1)])).toEqual([7, 10, -1]);
  });
});

describe('live runs of the context benchmark, which replay a whole conversation', () => {
  test('billRequest counts the start that a request shares with the previous request at the cache price, and the rest as written', () => {
    const [a, b, c] = [user('first message'), says('second message'), user('third message')];
    expect(billRequest([a, b], [])).toBeCloseTo(1.25 * sumTokens([a, b]));
    expect(billRequest([a, b, c], [a, b])).toBeCloseTo(0.1 * sumTokens([a, b]) + 1.25 * tokensOf(c));
    expect(billRequest([b, c], [a, b])).toBeCloseTo(1.25 * sumTokens([b, c]));
  });

  test('a live run compacts a conversation only when its context reaches twice the budget', async () => {
    const window = BASELINES.find(({ name }) => name === 'window') as Row;
    const all = sumTokens(messages);
    expect(await playLive(window, recording, all)).toMatchObject({ passes: 0 });
    const small = await playLive(window, recording, Math.floor(all / 10));
    expect(small?.passes).toBeGreaterThan(3);
    expect(small?.requests).toBe(messages.filter(({ role }) => role === 'assistant').length);
  });

  test('a live run returns no figures for a benchmark row that produces plain text', async () => {
    expect(await playLive(BASELINES.find(({ name }) => name === 'oracle') as Row, recording, 100)).toBeUndefined();
  });

  test('a live run counts the compaction passes of turnfold as workers would run them', async () => {
    const ladder = LADDERS.find(({ name }) => name === 'turnfold') as Row;
    const figures = await playLive(ladder, recording, 2_000);
    expect(figures?.passes).toBeGreaterThan(0);
    expect(figures?.billed).toBeGreaterThan(0);
  });
});
