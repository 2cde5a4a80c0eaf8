import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { drawBarPlot } from '../../src/cli/reports/bar-plot.ts';
import { markup } from '../../src/cli/reports/markup.ts';
import { drawTable, figure, writePage, writePicture } from '../../src/cli/reports/report-page.ts';
import { drawSizePlot, type SizePlot } from '../../src/cli/reports/size-plot.ts';
import { listElements, listTexts, readMarkup } from './read-report.ts';

const HOSTILE = `</title></svg><script>alert(1)</script>"'&<b>\u202E\u0000\uD800\uFFFF]]>`;

function plotOf(part: Partial<SizePlot>): SizePlot {
  const steps = [1000, 2000, 900].map((tokens, index) => ({ tokens, title: `call ${index + 1}: ${tokens} tokens` }));
  return { label: 'sizes', axis: 'model calls', first: 1, steps, limits: [], ...part };
}

const mark = { behind: 2, label: 'v1', title: 'version 1', tokensBefore: 2500, tokensAfter: 800 };

test('a report escapes hostile names, titles, labels and cells, so that its markup stays well-formed', () => {
  const plot = drawSizePlot(
    plotOf({
      label: HOSTILE,
      axis: HOSTILE,
      steps: [{ tokens: 5, title: HOSTILE }],
      marks: [{ ...mark, behind: 1, label: HOSTILE, title: HOSTILE }],
      bands: [{ from: 0, to: 0, kind: 'evict', title: HOSTILE }],
      limits: [{ name: HOSTILE, tokens: 7, kind: 'limit' }],
    }),
  );
  const bars = drawBarPlot({ label: HOSTILE, bars: [{ name: HOSTILE, value: 1, text: HOSTILE }], max: 2 });
  const table = drawTable({ header: [HOSTILE], rows: [[HOSTILE]], total: [HOSTILE] });
  const page = writePage({ title: HOSTILE, about: HOSTILE, sections: [plot, bars, table] });
  const document = readMarkup(page);
  expect(listElements(document, 'script')).toEqual([]);
  expect(listElements(document, 'b')).toEqual([]);
  const shown = `</title></svg><script>alert(1)</script>"'&<b>\\u202e\\u0000\uFFFD\uFFFD]]>`;
  expect(listTexts(document, 'h1')).toEqual([shown]);
  expect(listTexts(document, 'td')).toEqual([shown, shown]);
});

test('a report has well-formed markup for any texts and sizes', () => {
  const size = fc.oneof(fc.nat(), fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER));
  const text = fc.string({ unit: 'binary' });
  const step = fc.record({ tokens: size, title: text });
  const limit = fc.record({ name: text, tokens: size, kind: fc.constantFrom('limit' as const, 'goal' as const) });
  const marks = fc.array(
    fc.record({ behind: fc.nat(5), label: text, title: text, tokensBefore: size, tokensAfter: size }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 5 }), fc.array(limit), marks, (steps, limits, changes) => {
      const plot = writePicture(drawSizePlot(plotOf({ steps, limits, marks: changes })));
      expect(plot).not.toMatch(/NaN|Infinity|undefined/);
      expect(listElements(readMarkup(plot), 'svg')).toHaveLength(1);
    }),
  );
});

test('a report page requests nothing: it has no script, link or picture, and its policy forbids requests', () => {
  const page = writePage({ title: 'a', about: 'b', sections: [drawSizePlot(plotOf({}))] });
  const document = readMarkup(page);
  for (const name of ['script', 'link', 'img', 'image', 'iframe', 'object'])
    expect(listElements(document, name)).toEqual([]);
  expect(page.replaceAll(/xmlns="[^"]+"/g, '')).not.toMatch(/https?:|url\(|@import/);
  expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
  expect(page).toContain('prefers-color-scheme:dark');
});

test('the plot of context sizes falls at a new version, between the calls before and after it', () => {
  const document = readMarkup(drawSizePlot(plotOf({ marks: [mark] })).text);
  const line = listElements(document, 'path').find((path) => path.getAttribute('class') === 'size');
  const points = [...(line?.getAttribute('d') ?? '').matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [x, y]);
  const xs = points.map(([x]) => Number(x));
  expect(points).toHaveLength(5);
  expect(xs[2]).toBe(xs[3]);
  expect(xs[2]).toBeGreaterThan(xs[1] as number);
  expect(xs[2]).toBeLessThan(xs[4] as number);
  expect(listTexts(document, 'title')).toContain('version 1');
});

test('the plot of context sizes gives every call a title, and groups many calls under one title', () => {
  const steps = Array.from({ length: 10_000 }, (_, index) => ({ tokens: index, title: `call ${index}` }));
  const titles = listTexts(readMarkup(drawSizePlot(plotOf({ steps })).text), 'title');
  expect(titles).toHaveLength(240);
  expect([titles[0], titles.at(-1)]).toEqual(['call 0\ncall 40', 'call 9958\ncall 9999']);
  expect(listTexts(readMarkup(drawSizePlot(plotOf({})).text), 'title')).toHaveLength(3);
});

test('the plot of context sizes names a limit far above all sizes at its edge, and does not flatten the line', () => {
  const limits = [{ name: 'usable', tokens: 1_000_000, kind: 'limit' as const }];
  const document = readMarkup(drawSizePlot(plotOf({ limits })).text);
  expect(listTexts(document, 'text')).toContain('usable 1M ↑');
  expect(listElements(document, 'path').some((path) => path.getAttribute('class') === 'line limit')).toBe(false);
});

test('the bar plot draws bars as long as their values, and no bar for a value that was not measured', () => {
  const bars = [
    { name: 'all', value: 1, text: '100' },
    { name: 'half', value: 0.5, text: '50' },
    { name: 'below', value: -1, text: '-100' },
    { name: 'none', value: undefined, text: '–' },
  ];
  const document = readMarkup(drawBarPlot({ label: 'shares', bars, max: 1 }).text);
  const widths = listElements(document, 'rect').map((rect) => Number(rect.getAttribute('width')));
  expect(widths).toEqual([580, 290, 1, 1]);
  expect(listTexts(document, 'title')).toEqual(['all: 100', 'half: 50', 'below: -100', 'none: –']);
});

test('a figure in a report shows thousands separators and keeps its exact value', () => {
  expect(markup`${figure(12_345.5)}`.text).toBe('<data value="12345.5">12,346</data>');
});
