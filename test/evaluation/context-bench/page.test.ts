import { describe, expect, test } from 'vitest';
import {
  describeEstimate,
  poolValues,
  tabulateAnswers,
  tabulateIntervals,
} from '../../../bench/context/answer-tables.ts';
import type { DeepPass } from '../../../bench/context/depth.ts';
import { tabulateDeep, tabulateDepths, tabulateLiveRules } from '../../../bench/context/depth-tables.ts';
import type { Measured } from '../../../bench/context/measure.ts';
import { type Results, tabulatePlanted, writePage } from '../../../bench/context/page.ts';
import { writeReport } from '../../../bench/context/report.ts';
import { findBetter } from '../../../bench/context/short-answer.ts';
import { tabulateFamilies, tabulateQuality, toMarkdown, toText } from '../../../bench/context/tables.ts';
import { checkSentence, splitSentences } from '../../../scripts/prose-rules.ts';
import { readMarkdown } from '../../../scripts/prose-text.ts';
import { listRows, listTexts, readMarkup } from '../../reports/read-report.ts';

function measuredOf(part: Partial<Measured>): Measured {
  const shares = { recall: 0.5, rare: undefined, far: 0.25, inArguments: 0.5, selectivity: 0.125, anchored: 0.5 };
  const guards = { userWords: 0.5, density: 0.1, invented: 0, broken: [] };
  const place = { row: 'mask', family: 'chat', conversation: 'a', cut: 10, maxTokens: 100, fill: 0.9 } as const;
  const grades = { goal: { asked: 1, right: 1, wrong: 0 }, value: { asked: 10, right: 3, wrong: 1 } };
  return { ...shares, ...guards, ...place, grades, answers: 0.65, ms: 2, context: '', ...part };
}

function passOf(part: Partial<DeepPass>): DeepPass {
  const place = { conversation: 'a', family: 'chat', number: 1, isLast: false } as const;
  return { ...place, grades: {}, answers: 0.5, needles: [], ...part };
}

const runs = [
  {
    row: 'turnfold',
    infeasible: 1,
    lostSummaries: 0,
    passes: [
      passOf({ needles: [{ depth: '1', isKept: true }] }),
      passOf({ isLast: true, answers: 1, needles: [{ depth: '2', isKept: false }] }),
    ],
  },
  { row: 'turnfold', infeasible: 2, lostSummaries: 0, passes: [passOf({ conversation: 'b', isLast: true })] },
] as const;
const rules = [
  { row: 'turnfold', conversation: 'a', family: 'chat', age: '5–9', planted: 6, kept: 3 },
  { row: 'turnfold', conversation: 'b', family: 'chat', age: '5–9', planted: 2, kept: 2 },
] as const;

const results: Results = {
  conversations: 3,
  budgets: [
    {
      budget: 0.2,
      measured: [
        measuredOf({ row: 'turnfold' }),
        measuredOf({ row: 'turnfold', conversation: 'b', recall: 0.7 }),
        measuredOf({ selectivity: 0.25 }),
        measuredOf({ row: 'window', recall: 0.25, fill: 0.5, broken: ['budget'] }),
      ],
      live: [{ row: 'mask', figures: { requests: 50, passes: 4, billed: 10_000 } }],
    },
    { budget: 2_000, measured: [measuredOf({})], live: [] },
  ],
  deep: { runs, rules },
  limits: { tokenThreshold: 12_000, maxTokens: 6_000 },
  recorded: [{ conversation: 'a', cut: 10, tokens: 900, measured: [measuredOf({ row: 'recorded summary' })] }],
  planted: [
    { row: 'mask', kind: 'implicit wish', planted: 4, kept: 1 },
    { row: 'mask', kind: 'fact from the user', planted: 4, kept: 3 },
  ],
};

describe('tables of the context benchmark', () => {
  test('the quality table averages the points of each family of recordings first, then the families', () => {
    const chat = [measuredOf({ recall: 0 }), measuredOf({ recall: 0.5 })];
    const { header, rows } = tabulateQuality([...chat, measuredOf({ family: 'coding', recall: 1 })], []);
    expect(rows[0]?.[header.indexOf('recall')]).toBe('62.5');
  });

  test('the quality table shows a dash for a value that no point has', () => {
    const { header, rows } = tabulateQuality([measuredOf({})], []);
    expect(rows[0]?.[header.indexOf('rare')]).toBe('–');
    expect(rows[0]?.[header.indexOf('passes')]).toBe('–');
  });

  test('the quality table counts contexts below 70 % of their budget and contexts that break a guard', () => {
    const { header, rows } = tabulateQuality(results.budgets[0]?.measured ?? [], []);
    const window = rows.find(([name]) => name === 'window');
    expect(window?.[header.indexOf('< 70 %')]).toBe('1');
    expect(window?.[header.indexOf('guards broken')]).toBe('1 (budget)');
  });

  test('the quality table shows compaction passes per 100 requests and billed tokens per request', () => {
    const { header, rows } = tabulateQuality(results.budgets[0]?.measured ?? [], results.budgets[0]?.live ?? []);
    const mask = rows.find(([name]) => name === 'mask');
    expect(mask?.[header.indexOf('passes')]).toBe('8.0');
    expect(mask?.[header.indexOf('billed')]).toBe('200');
  });

  test('the table of planted facts shows how many of 100 facts were kept, in total and by kind', () => {
    const { header, rows } = tabulatePlanted(results.planted);
    expect(rows).toHaveLength(1);
    const of = (name: string) => rows[0]?.[header.indexOf(name)];
    expect([of('all'), of('implicit wish'), of('fact from the user')]).toEqual(['50', '25', '75']);
  });

  test('each table row has as many cells as the table header', () => {
    const table = tabulateQuality(results.budgets[0]?.measured ?? [], []);
    for (const row of table.rows) expect(row).toHaveLength(table.header.length);
    expect(toMarkdown(table).split('\n')).toHaveLength(table.rows.length + 2);
    expect(
      new Set(
        toText(table)
          .split('\n')
          .map(({ length }) => length),
      ).size,
    ).toBe(1);
  });
});

describe('tables of answers of the context benchmark', () => {
  test('the answers table shows the mean of the kinds, each kind, and a dash for kinds that no point has', () => {
    const { header, rows } = tabulateAnswers([measuredOf({})]);
    const of = (name: string) => rows[0]?.[header.indexOf(name)];
    expect([of('A'), of('goal'), of('value'), of('test')]).toEqual(['65.0', '100.0', '30.0', '–']);
  });

  test('values are pooled over all points, and wrong values are shares of the stated ones', () => {
    const few = measuredOf({ grades: { value: { asked: 2, right: 2, wrong: 0 } } });
    const many = measuredOf({ grades: { value: { asked: 18, right: 2, wrong: 4 } } });
    expect(poolValues([few, many])).toEqual({ known: 0.2, wrongOfStated: 0.5 });
  });

  test('the table of intervals shows conversations and points of each family, and the mean of the families last', () => {
    const own = [...Array(4).keys()].map((index) => measuredOf({ conversation: `${index % 2}`, recall: index / 4 }));
    const { rows } = tabulateIntervals([...own, measuredOf({ family: 'coding' })]);
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      ['coding', '1', '1'],
      ['chat', '2', '4'],
      ['mean of families', '3', '5'],
    ]);
  });

  test('an estimate without an interval shows the mean alone', () => {
    const part = { mean: 0.5, conversations: 3, points: 5 };
    expect(describeEstimate({ ...part, interval: undefined })).toBe('50.0');
    expect(describeEstimate({ ...part, interval: [0.421, 0.58] })).toBe('50.0 (42–58)');
  });

  test('the benchmark names the columns in which another row is better than turnfold, without rows that break guards', () => {
    const [first] = results.budgets;
    expect(findBetter(first as Results['budgets'][number])).toEqual(['`J`: mask 25.0 (turnfold 12.5)']);
    const broken = measuredOf({ row: 'window', recall: 1, broken: ['budget'] });
    expect(findBetter({ budget: 0.2, live: [], measured: [measuredOf({ row: 'turnfold' }), broken] })).toEqual([]);
  });
});

describe('tables of conversations that are compacted again and again', () => {
  test('the table of passes shows answerability over all passes and after the last of each conversation', () => {
    const { header, rows } = tabulateDeep(runs);
    const of = (name: string) => rows[0]?.[header.indexOf(name)]?.split(' ')[0];
    expect([of('conversations'), of('passes'), of('A, all passes'), of('A, last pass')]).toEqual([
      '2',
      '3',
      '66.7',
      '75.0',
    ]);
    expect([of('infeasible'), of('fresh summaries lost')]).toEqual(['3', '0']);
  });

  test('the table of depths shows recall by passes since a needle was last seen, and counts the needles', () => {
    expect(tabulateDepths(runs).rows).toEqual([
      ['turnfold', '100.0 / 100.0', '0.0 / 0.0', '– / –', '– / –', '– / –'],
      ['needles of the first row', '1', '1', '0', '0', '0'],
    ]);
  });

  test('the table of planted rules shows the share of kept rules and their number', () => {
    expect(tabulateLiveRules(rules).rows).toEqual([['turnfold', '–', '–', '62.5 of 8', '–', '–']]);
  });
});

test('the HTML report of the benchmark has the same tables as the page, and a bar for each row', () => {
  const document = readMarkup(writeReport(results));
  const cells = results.budgets.flatMap(({ measured, live }) => [
    ...tabulateQuality(measured, live).rows,
    ...tabulateAnswers(measured).rows,
    ...tabulateFamilies(measured).rows,
  ]);
  const rows = [...cells, ...tabulatePlanted(results.planted).rows];
  expect(listRows(document)).toEqual(
    rows.map((row) => row.map((cell) => (/^[\d.]+$/.test(cell) ? Number(cell) : cell))),
  );
  expect(listTexts(document, 'title').slice(1)).toEqual([
    'turnfold: 60.0',
    'mask: 50.0',
    'window: 25.0',
    'turnfold: 12.5',
    'mask: 25.0',
    'window: 12.5',
    'turnfold: 65.0',
    'mask: 65.0',
    'window: 65.0',
    'mask: 50.0',
    'mask: 12.5',
    'mask: 65.0',
  ]);
});

describe('the Markdown page of the context benchmark', () => {
  const page = writePage(results);

  test('the benchmark page has a section for each budget, the recorded summaries, the planted facts and the limits', () => {
    expect(page.split('\n').filter((line) => line.startsWith('## '))).toEqual([
      '## Measure your own conversations',
      '## Method',
      '## Budget: 20 % of the source',
      '## Budget: 2000 tokens',
      '## Compacted again and again',
      '## Beside recorded summaries',
      '## Planted rules and facts',
      '## Limits',
    ]);
  });

  test('the benchmark page explains each column of its tables', () => {
    const { header } = tabulateQuality([], []);
    for (const column of header.slice(2)) expect(page).toContain(`| ${column} |`);
  });

  test('the benchmark page is the same for the same results', () => {
    expect(writePage(results)).toBe(page);
  });

  test('the benchmark page begins with the answer in ten lines and one table, and says that figures hold for its recordings', () => {
    const [first = ''] = page.split('## Measure your own');
    expect(first.split('\n').filter((line) => line.startsWith('- ')).length).toBeLessThanOrEqual(10);
    expect(first).toContain('The figures hold for the points of these 3 recorded conversations.');
    expect(first).toContain('Others are better');
    expect(first).toMatch(/\| turnfold \| 60\.0 \|/);
  });

  test('the benchmark page says that presence is not understanding', () => {
    expect(page).toContain('Presence is not understanding');
  });

  test('the benchmark page passes the prose check', () => {
    const sentences = readMarkdown(page).flatMap(({ text }) => splitSentences(text));
    expect(sentences.length).toBeGreaterThan(10);
    expect(
      sentences.flatMap((sentence) => checkSentence(sentence).map(({ message }) => `${message}: ${sentence}`)),
    ).toEqual([]);
  });

  test('the benchmark page says so if the recordings contain no model summaries', () => {
    expect(writePage({ ...results, recorded: [] })).toContain('hold no summaries of models');
  });
});
