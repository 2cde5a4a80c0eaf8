import { describe, expect, test } from 'vitest';
import { BASELINES } from '../../../bench/context/baselines.ts';
import { measureDepth, nameDepth } from '../../../bench/context/depth.ts';
import { LADDERS } from '../../../bench/context/ladder-rows.ts';
import { type LivePass, playContext } from '../../../bench/context/live-context.ts';
import { measureLiveRules } from '../../../bench/context/planted-live.ts';
import { Corpus } from '../../../bench/context/quality/corpus.ts';
import { type Row, sumTokens } from '../../../bench/context/row.ts';
import { round, says, user } from '../quality/conversation.ts';

const rowOf = (name: string): Row => [...BASELINES, ...LADDERS].find((row) => row.name === name) as Row;

/** The agent reads files, and names an early file again at the end. */
const messages = [
  user('read all parts and compare them'),
  ...Array.from({ length: 40 }, (_, index) => [
    ...round({ path: `src/part_${index}.ts` }, `line of part_${index}\n`.repeat(20)),
    says(`part_${index} is read`),
  ]).flat(),
  says('part_39 differs from part_1'),
];
const recording = { id: 'made', group: 'coding_made', messages, summaries: [] };
const corpus = new Corpus([recording]);
const limits = { tokenThreshold: 2_000, maxTokens: 1_000 };

describe('conversations that are compacted again and again', () => {
  test('passes since a text was last seen are named by their range', () => {
    expect([1, 2, 3, 4, 5, 9, 10, 99].map(nameDepth)).toEqual(['1', '2', '3–4', '3–4', '5–9', '5–9', '10+', '10+']);
  });

  test.each(['window', 'calls + window', 'turnfold'])(
    'the benchmark row %s compacts a conversation before answers only, and never above its budget',
    async (name) => {
      const passes: LivePass[] = [];
      await playContext(rowOf(name), messages, limits, (pass, before) => {
        expect(messages[before]?.role).toBe('assistant');
        passes.push(pass);
      });
      const versions = passes.filter((pass) => pass.kind === 'version');
      expect(versions.length).toBeGreaterThan(2);
      for (const { context } of versions) expect(sumTokens(context)).toBeLessThanOrEqual(1.05 * limits.maxTokens);
    },
  );

  test('each pass is measured against the whole log, so an old name counts at the depth where it was last seen', async () => {
    const { passes, infeasible } = await measureDepth(rowOf('window'), recording, { corpus, limits });
    expect(infeasible).toBe(0);
    expect(passes.map(({ number }) => number)).toEqual(passes.map((_, index) => index + 1));
    expect(passes.map(({ isLast }) => isLast)).toEqual(passes.map((_, index) => index === passes.length - 1));
    const last = passes.at(-1)?.needles ?? [];
    expect(last.filter(({ depth }) => depth !== '1').every(({ isKept }) => !isKept)).toBe(true);
    expect(passes.every(({ grades }) => grades.outcome?.asked !== 0)).toBe(true);
  });

  test('rules that are planted near the start are looked for after each pass, by the passes since they were said', async () => {
    const counted = await measureLiveRules(rowOf('window'), recording, { limits, seed: 1 });
    expect(counted.map(({ age }) => age).slice(0, 2)).toEqual(['1', '2–4']);
    expect(counted[0]?.planted).toBe(6);
    expect(counted.at(-1)?.kept).toBe(0);
  });
});
