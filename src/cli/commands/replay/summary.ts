import { plot } from 'asciichart';
import type { Limits } from '../../../domain/limits.ts';
import type { Replayed, ReplayFigures } from '../../../evaluation/replay.ts';

export interface ReplayedConversation extends Replayed {
  readonly id: string;
}

const PLOT_WIDTH = 72;
const PLOT_HEIGHT = 12;
const MIN_ID_CHARS = 12;
const MAX_ID_CHARS = 40;
const SCALE_WIDTH = 11;
const GAP = '  ';
/** Width of the plots and tables if the output is not a terminal. */
const DEFAULT_COLUMNS = 120;

export const MEANINGS: readonly string[] = [
  'prefix: unchanged bytes at the start of a request after a compaction, in % of the bytes the cheapest cut keeps',
  'recall: share of the names and numbers used after a compaction that are in the context, or in a plain window of its size',
];

export interface TriedPolicy {
  readonly name: string;
  readonly replayed: readonly ReplayedConversation[];
  readonly limits: Limits;
}

/**
 * Shows a row per conversation, their sum, and a plot of the largest conversation.
 * @param columns width of the terminal
 */
export function describePolicy({ name, replayed, limits }: TriedPolicy, columns = DEFAULT_COLUMNS): string[] {
  const [first] = replayed;
  if (first === undefined) return [];
  const header = ['conversation', ...listFigures(first.figures).map((one) => one.name)];
  const textsOf = (figures: ReplayFigures): string[] => listFigures(figures).map(({ text }) => text);
  const rows = replayed.map(({ id, figures }) => [id, ...textsOf(figures)]);
  const total = ['total', ...textsOf(sumFigures(replayed.map(({ figures }) => figures)))];
  const largest = replayed.reduce((a, b) => (b.figures.tokensSent > a.figures.tokensSent ? b : a));
  return [
    `${name}: requests of at most ${limits.usable ?? 0} tokens`,
    ...MEANINGS,
    ...formatTable([header, ...rows, ...(rows.length > 1 ? [total] : [])], columns),
    '',
    `tokens in each request, over the model calls of conversation ${largest.id}`,
    ...plotSizes(largest.sizes, columns),
    '',
  ];
}

/** Sums figures. Recall is weighted by needles: the names and numbers that an agent uses after a compaction. */
export function sumFigures(all: readonly ReplayFigures[]): ReplayFigures {
  const sum = (valueOf: (figures: ReplayFigures) => number): number =>
    all.reduce((total, figures) => total + valueOf(figures), 0);
  const needles = sum(({ recall }) => recall.needles);
  const shareOf = (held: number): number => (needles === 0 ? 1 : held / needles);
  const cost = all.some((figures) => figures.cost !== undefined)
    ? {
        cost: {
          withCache: sum((figures) => figures.cost?.withCache ?? 0),
          withoutCache: sum((figures) => figures.cost?.withoutCache ?? 0),
        },
      }
    : {};
  return {
    requests: sum(({ requests }) => requests),
    overLimit: sum(({ overLimit }) => overLimit),
    invalid: sum(({ invalid }) => invalid),
    compactions: sum(({ compactions }) => compactions),
    prefix: {
      bytes: sum(({ prefix }) => prefix.bytes),
      kept: sum(({ prefix }) => prefix.kept),
      cheapest: sum(({ prefix }) => prefix.cheapest),
    },
    tokensSent: sum(({ tokensSent }) => tokensSent),
    tokensPeak: all.reduce((most, { tokensPeak }) => Math.max(most, tokensPeak), 0),
    tokensEnd: sum(({ tokensEnd }) => tokensEnd),
    recall: {
      compacted: shareOf(sum(({ recall }) => recall.compacted * recall.needles)),
      window: shareOf(sum(({ recall }) => recall.window * recall.needles)),
      needles,
    },
    ...cost,
  };
}

/** A measured value. Undefined if nothing was measured. */
interface Figure {
  readonly name: string;
  readonly value: number | undefined;
  readonly text: string;
}

export function listFigures(figures: ReplayFigures): Figure[] {
  const { requests, overLimit, invalid, compactions, tokensSent, tokensPeak, tokensEnd, recall, cost, prefix } =
    figures;
  const count = (name: string, value: number): Figure => ({ name, value, text: String(value) });
  const share = (name: string, part: number, of: number): Figure =>
    of === 0 ? { name, value: undefined, text: '-' } : { name, value: part, text: `${(100 * part).toFixed(1)}%` };
  const dollars = (name: string, value: number): Figure => ({ name, value, text: value.toFixed(4) });
  return [
    count('requests', requests),
    count('over', overLimit),
    count('invalid', invalid),
    count('passes', compactions),
    count('sent', tokensSent),
    count('peak', tokensPeak),
    count('end', tokensEnd),
    share('recall', recall.compacted, recall.needles),
    share('window', recall.window, recall.needles),
    share('prefix', prefix.kept / prefix.cheapest, prefix.cheapest),
    ...(cost === undefined ? [] : [dollars('$ cached', cost.withCache), dollars('$ uncached', cost.withoutCache)]),
  ];
}

/** Fits the table to the terminal: names are cut, and figures never. */
function formatTable(rows: readonly (readonly string[])[], columns: number): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [longest = 0, ...others] = widths;
  const left = columns - others.reduce((sum, width) => sum + GAP.length + width, 0);
  const nameWidth = Math.min(longest, MAX_ID_CHARS, Math.max(MIN_ID_CHARS, left));
  return rows.map(([name = '', ...cells]) =>
    [clipName(name, nameWidth).padEnd(nameWidth), ...cells.map((cell, at) => cell.padStart(others[at] ?? 0))].join(GAP),
  );
}

/** Cuts the middle of a name, because ids of the same recording often differ only in their last letters. */
function clipName(name: string, width: number): string {
  if (name.length <= width) return name;
  const end = Math.floor((width - 1) / 2);
  return `${name.slice(0, width - 1 - end)}…${name.slice(-end)}`;
}

function plotSizes(sizes: readonly number[], columns: number): string[] {
  if (sizes.length === 0) return [];
  const room = Math.max(2, Math.min(PLOT_WIDTH, columns - SCALE_WIDTH));
  const width = Math.min(room, Math.max(2, sizes.length));
  const points = Array.from({ length: width }, (_, at) => sizes[Math.floor((at * sizes.length) / width)] ?? 0);
  const format = (value: number): string => `${Math.round(value)}`.padStart(8);
  return plot(points, { height: PLOT_HEIGHT, min: 0, format })
    .split('\n')
    .map((line) => line.trimEnd());
}
