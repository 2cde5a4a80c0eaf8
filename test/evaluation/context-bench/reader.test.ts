import { describe, expect, test } from 'vitest';
import { type Measured, measureContext } from '../../../bench/context/measure.ts';
import { preparePoint } from '../../../bench/context/points.ts';
import { Corpus } from '../../../bench/context/quality/corpus.ts';
import { askReader } from '../../../bench/context/reader/ask.ts';
import { describePlan, planReader, type ReadPoint } from '../../../bench/context/reader/plan.ts';
import { readAnswers } from '../../../bench/context/reader/prompt.ts';
import { tabulateReadings } from '../../../bench/context/reader/table.ts';
import { resolveModel } from '../../../src/host/resolve-model.ts';
import { startProvider } from '../../provider/provider.ts';
import { round, says, user } from '../quality/conversation.ts';

const messages = [
  user('Please fix the login of the shop and never touch legacy code.'),
  ...round({ command: 'npm run build' }, 'error: missing module', 'bash'),
  ...round({ path: 'src/login.ts', content: 'x' }, 'written', 'write'),
  says('The login of the shop is repaired now.'),
  ...Array.from({ length: 6 }, (_, index) => says(`step ${index}`)),
];
const recording = { id: 'made', group: 'coding_made', messages, summaries: [] };
const bench = preparePoint(recording, 6, new Corpus([recording]));

function pointOf(row = 'window'): ReadPoint {
  const context = bench.point.source.slice(-1);
  const measured: Measured = { row, ms: 0, ...measureContext(bench, context, 500) };
  return { bench, contexts: [measured] };
}

const limits = { maxRequests: 10, maxTokens: 100_000 };

describe('answers that a reader wrote', () => {
  test('an answer begins with the number of its question and continues to the next number', () => {
    expect(readAnswers('1: first\nmore of it\n2. worked\n4) fourth', 4)).toEqual([
      'first\nmore of it',
      'worked',
      '',
      'fourth',
    ]);
  });

  test('an unknown answer is empty, and a number without a question belongs to the answer before it', () => {
    expect(readAnswers('1: Unknown.\n2: list\n1: again\n9: nine', 2)).toEqual(['', 'list\n1: again\n9: nine']);
  });
});

describe('the plan of a reader', () => {
  test('a plan stays within the number of requests, and reads all rows of a point or none', () => {
    const both: ReadPoint = { bench, contexts: [...pointOf().contexts, ...pointOf('mask').contexts] };
    const { requests } = planReader([both, both, both], { ...limits, maxRequests: 5 }, undefined);
    expect(requests.map(({ measured }) => measured.row)).toEqual(['window', 'mask', 'window', 'mask']);
  });

  test('a plan stays within the tokens, and states the most that it can cost', () => {
    const points = [pointOf(), pointOf(), pointOf()];
    const plan = planReader(points, { ...limits, maxTokens: 5_000 }, { input: 1, output: 5 });
    expect(plan.requests).toHaveLength(2);
    expect(plan.inputTokens + plan.maxOutputTokens).toBeLessThanOrEqual(5_000);
    expect(plan.maxCost).toBeCloseTo((plan.inputTokens + 5 * plan.maxOutputTokens) / 1_000_000);
    expect(describePlan(plan)).toMatch(/^2 requests, \d+ input tokens, at most 4000 output tokens, at most \$0\.02\d$/);
    expect(describePlan(planReader([], limits, undefined))).toContain('price not known');
  });
});

describe('a reader behind a provider', () => {
  test.each(['anthropic/claude-haiku-5-5', 'openai/gpt-5-mini', 'openai-chat/gpt-5-mini'])(
    'the reader %s gets the context and the questions alone, and code grades its answers',
    async (name) => {
      const [first] = planReader([pointOf()], limits, undefined).requests;
      const texts = first?.questions.map(({ text }) => text) ?? [];
      const answerOf = (text: string): string => {
        if (text.includes('npm run build')) return 'failed';
        if (text.includes('src/login.ts') && text.includes('work?')) return 'failed';
        return text.includes('change last') ? 'login.ts' : 'unknown';
      };
      const written = texts.map((text, index) => `${index + 1}: ${answerOf(text)}`).join('\n');
      await using provider = await startProvider({ answers: [{ text: written }] });
      const settings = {
        anthropic: { keyVariable: 'A', apiKey: 'sk-test', baseUrl: provider.url },
        openai: { keyVariable: 'B', apiKey: 'sk-test', baseUrl: `${provider.url}/v1` },
      };
      const model = resolveModel(name, { settings });
      const plan = planReader([pointOf()], limits, model.profile.prices);
      const readings = await askReader(model, plan);
      expect(readings.failures).toEqual([]);
      const [reading] = readings.readings;
      expect(reading?.grades).toMatchObject({
        failure: { asked: 1, right: 1, wrong: 0 },
        outcome: { asked: 2, right: 1, wrong: 1 },
        lastEdit: { asked: 1, right: 1, wrong: 0 },
        edited: { right: 0, wrong: 0 },
      });
      expect(JSON.stringify(provider.requests[0]?.body)).toContain('The login of the shop is repaired now.');
      expect(JSON.stringify(provider.requests[0]?.body)).not.toContain('missing module');
      const { header, rows } = tabulateReadings(readings);
      expect(rows[0]?.[header.indexOf('failure')]).toBe('100.0');
    },
  );

  test('a reader stops after three failed requests in a row and reports them', async () => {
    await using provider = await startProvider({
      answers: () => ({ fault: 'unauthorized' }),
      strict: false,
    });
    const settings = {
      anthropic: { keyVariable: 'A', apiKey: 'sk-test', baseUrl: provider.url },
      openai: { keyVariable: 'B', apiKey: undefined, baseUrl: undefined },
    };
    const model = resolveModel('anthropic/claude-haiku-5-5', { settings });
    const plan = planReader(
      Array.from({ length: 5 }, () => pointOf()),
      limits,
      undefined,
    );
    const { readings, failures } = await askReader(model, plan);
    expect(readings).toEqual([]);
    expect(failures).toHaveLength(3);
  });
});
