import { describe, expect, test } from 'vitest';
import { drawBars } from '../../../bench/context/bars.ts';
import type { Measured } from '../../../bench/context/measure.ts';
import { type Results, tabulatePlanted, writePage } from '../../../bench/context/page.ts';
import { writeReport } from '../../../bench/context/report.ts';
import { tabulateFamilies, tabulateQuality, toMarkdown, toText } from '../../../bench/context/tables.ts';
import { checkSentence, splitSentences } from '../../../scripts/prose-rules.ts';
import { readMarkdown } from '../../../scripts/prose-text.ts';
import { listRows, listTexts, readMarkup } from '../../reports/read-report.ts';

function measuredOf(part: Partial<Measured>): Measured {
  const shares = { recall: 0.5, rare: undefined, far: 0.25, inArguments: 0.5, selectivity: 0.125, anchored: 0.5 };
  const guards = { userWords: 0.5, density: 0.1, invented: 0, broken: [] };
  const place = { row: 'mask', family: 'chat', conversation: 'a', cut: 10, maxTokens: 100, fill: 0.9 } as const;
  return { ...shares, ...guards, ...place, ms: 2, context: '', ...part };
}

const results: Results = {
  conversations: 3,
  budgets: [
    {
      budget: 0.2,
      measured: [measuredOf({}), measuredOf({ row: 'window', recall: 0.25, fill: 0.5, broken: ['budget'] })],
      live: [{ row: 'mask', figures: { requests: 50, passes: 4, billed: 10_000 } }],
    },
    { budget: 2_000, measured: [measuredOf({})], live: [] },
  ],
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
    expect(rows[0]?.[header.indexOf('passes')]).toBe('8.0');
    expect(rows[0]?.[header.indexOf('billed')]).toBe('200');
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

test('the HTML report of the benchmark has the same tables as the page, and a bar for each row', () => {
  const document = readMarkup(writeReport(results.conversations, results.budgets, results.planted));
  const cells = results.budgets.flatMap(({ measured, live }) => [
    ...tabulateQuality(measured, live).rows,
    ...tabulateFamilies(measured).rows,
  ]);
  const rows = [...cells, ...tabulatePlanted(results.planted).rows];
  expect(listRows(document)).toEqual(
    rows.map((row) => row.map((cell) => (/^[\d.]+$/.test(cell) ? Number(cell) : cell))),
  );
  expect(listTexts(document, 'title').slice(1)).toEqual([
    'mask: 50.0',
    'window: 25.0',
    'mask: 12.5',
    'window: 12.5',
    'mask: 50.0',
    'mask: 12.5',
  ]);
});

test('bars of a text chart grow with their shares and have at least length zero', () => {
  const bars = drawBars([
    { name: 'a', share: 1 },
    { name: 'bb', share: 0.5 },
    { name: 'c', share: -0.2 },
    { name: 'd', share: Number.NaN },
  ]).split('\n');
  expect(bars.map((bar) => bar.split('█').length - 1)).toEqual([40, 20, 0, 0]);
  expect(bars.map((bar) => bar.split(' ').at(-1))).toEqual(['100', '50', '-20', '–']);
});

describe('the Markdown page of the context benchmark', () => {
  const page = writePage(results);

  test('the benchmark page has a section for each budget, the recorded summaries, the planted facts and the limits', () => {
    expect(page.split('\n').filter((line) => line.startsWith('## '))).toEqual([
      '## Method',
      '## Budget: 20 % of the source',
      '## Budget: 2000 tokens',
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
