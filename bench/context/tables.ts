import type { LiveFigures } from './live.ts';
import { type Measured, meanOf, meanOfFamilies } from './measure.ts';
import { FAMILIES } from './points.ts';

/** A table of texts. Its first column names the rows. */
export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface LiveRow {
  readonly row: string;
  readonly figures: LiveFigures;
}

/** The row of turnfold with its defaults, which the page compares with the others. */
export const OWN_ROW = 'turnfold';

/** Contexts below this share of their budget count as too small. */
const MIN_FILL = 0.7;

/** A share as a number of 100. */
export const percent = (value: number): string => (Number.isNaN(value) ? '–' : (100 * value).toFixed(1));

/** Shares of 100, each the mean over the points of a family and then over the families. */
const MEANS: readonly (readonly [string, (one: Measured) => number | undefined])[] = [
  ['recall', ({ recall }) => recall],
  ['rare', ({ rare }) => rare],
  ['far', ({ far }) => far],
  ['arg', ({ inArguments }) => inArguments],
  ['J', ({ selectivity }) => selectivity],
  ['A', ({ answers }) => answers],
  ['anchored', ({ anchored }) => anchored],
  ['user words', ({ userWords }) => userWords],
  ['fill', ({ fill }) => fill],
];

/** One line per row of the benchmark, for one budget. */
export function tabulateQuality(measured: readonly Measured[], live: readonly LiveRow[]): Table {
  const header = ['row', 'points', ...MEANS.map(([name]) => name), '< 70 %', 'guards broken', 'passes', 'billed', 'ms'];
  const rows = [...Map.groupBy(measured, ({ row }) => row)].map(([row, own]) => [
    row,
    String(own.length),
    ...MEANS.map(([, valueOf]) => percent(meanOfFamilies(own, valueOf))),
    String(own.filter(({ fill }) => fill < MIN_FILL).length),
    describeBroken(own),
    ...describeLive(live.filter((one) => one.row === row)),
    meanOf(own.map(({ ms }) => ms)).toFixed(0),
  ]);
  return { header, rows };
}

/** Number of contexts that break a guard, and the guards. */
function describeBroken(own: readonly Measured[]): string {
  const count = own.filter(({ broken }) => broken.length > 0).length;
  const guards = new Set(own.flatMap(({ broken }) => broken));
  return count === 0 ? '0' : `${count} (${[...guards].join(', ')})`;
}

function describeLive(live: readonly LiveRow[]): [string, string] {
  const { passes, billed } = ratesOf(live);
  return Number.isNaN(passes) ? ['–', '–'] : [passes.toFixed(1), billed.toFixed(0)];
}

/** Passes per 100 requests, and tokens billed per request. NaN without requests. */
export function ratesOf(live: readonly LiveRow[]): { readonly passes: number; readonly billed: number } {
  const sum = (valueOf: (figures: LiveFigures) => number): number =>
    live.reduce((total, { figures }) => total + valueOf(figures), 0);
  const requests = sum((figures) => figures.requests);
  return { passes: (100 * sum(({ passes }) => passes)) / requests, billed: sum(({ billed }) => billed) / requests };
}

/** Recall, rare, J and A of each family. */
export function tabulateFamilies(measured: readonly Measured[]): Table {
  const families = FAMILIES.filter((family) => measured.some((one) => one.family === family));
  const rows = [...Map.groupBy(measured, ({ row }) => row)].map(([row, all]) => [
    row,
    ...families.map((family) => {
      const own = all.filter((one) => one.family === family);
      return [
        own.map(({ recall }) => recall),
        own.map(({ rare }) => rare),
        own.map(({ selectivity }) => selectivity),
        own.map(({ answers }) => answers),
      ]
        .map((values) => percent(meanOf(values.filter((value) => value !== undefined))))
        .join(' / ');
    }),
  ]);
  return { header: ['row', ...families], rows };
}

export function toMarkdown({ header, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

export function toText({ header, rows }: Table): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((cells) => cells[column]?.length ?? 0)));
  return all
    .map((cells) =>
      cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
    )
    .join('\n');
}
