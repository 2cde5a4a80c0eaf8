import { describe, expect, test } from 'vitest';
import { BASELINES } from '../../../bench/context/baselines.ts';
import { LADDERS } from '../../../bench/context/ladder-rows.ts';
import { billRequest, playLive } from '../../../bench/context/live.ts';
import { maxTokensOf, measureRow } from '../../../bench/context/measure.ts';
import { preparePoint } from '../../../bench/context/points.ts';
import { findLargest, type Row, sumTokens, tokensOf } from '../../../bench/context/row.ts';
import { loadOtherSystems } from '../../../bench/context/systems/load.ts';
import { Corpus } from '../../../src/evaluation/quality/corpus.ts';
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
  test.each(rows.map((row) => [row.name, row] as const))('%s fits the budget with whole rounds', async (_, row) => {
    const measured = await measureRow(row, bench, maxTokens);
    expect(measured?.fill).toBeGreaterThan(0);
    expect(measured?.broken).not.toContain('budget');
    expect(measured?.broken).not.toContain('rounds');
  });

  test('the oracle holds what the agent used, and a window of the newest rounds holds less', async () => {
    const recallOf = async (name: string) =>
      (await measureRow(rows.find((row) => row.name === name) as Row, bench, maxTokens))?.recall ?? 0;
    expect(await recallOf('oracle')).toBe(1);
    expect(await recallOf('window')).toBeLessThan(1);
  });

  test.skipIf(missing.length > 0)(
    'other systems leave messages alone that fit (skipped without their packages)',
    async () => {
      for (const { name, compact } of others) {
        if (name.includes('summarization')) continue;
        const context = await compact(bench, 1_000_000);
        expect({ name, context }).toEqual({ name, context: bench.point.source });
      }
    },
  );
});

describe('budgets', () => {
  test('below 1 are shares of the source, others are tokens for long sources only', () => {
    expect(maxTokensOf(0.2, 1_234)).toBe(246);
    expect(maxTokensOf(2_000, 20_000)).toBe(2_000);
    expect(maxTokensOf(2_000, 19_999)).toBeUndefined();
  });

  test('are filled with the largest number that passes', async () => {
    const largest = (most: number, limit: number) => findLargest(most, async (value) => value <= limit);
    expect(await Promise.all([largest(10, 7), largest(10, 20), largest(10, -1)])).toEqual([7, 10, -1]);
  });
});

describe('live runs', () => {
  test('bill a shared beginning at the price of the cache, and the rest as written', () => {
    const [a, b, c] = [user('first message'), says('second message'), user('third message')];
    expect(billRequest([a, b], [])).toBeCloseTo(1.25 * sumTokens([a, b]));
    expect(billRequest([a, b, c], [a, b])).toBeCloseTo(0.1 * sumTokens([a, b]) + 1.25 * tokensOf(c));
    expect(billRequest([b, c], [a, b])).toBeCloseTo(1.25 * sumTokens([b, c]));
  });

  test('compact a conversation only when its context reaches twice the budget', async () => {
    const window = BASELINES.find(({ name }) => name === 'window') as Row;
    const all = sumTokens(messages);
    expect(await playLive(window, recording, all)).toMatchObject({ passes: 0 });
    const small = await playLive(window, recording, Math.floor(all / 10));
    expect(small?.passes).toBeGreaterThan(3);
    expect(small?.requests).toBe(messages.filter(({ role }) => role === 'assistant').length);
  });

  test('have no figures for a row that makes a plain text', async () => {
    expect(await playLive(BASELINES.find(({ name }) => name === 'oracle') as Row, recording, 100)).toBeUndefined();
  });

  test('count the passes of turnfold as workers would run them', async () => {
    const ladder = LADDERS.find(({ name }) => name === 'turnfold') as Row;
    const figures = await playLive(ladder, recording, 2_000);
    expect(figures?.passes).toBeGreaterThan(0);
    expect(figures?.billed).toBeGreaterThan(0);
  });
});
