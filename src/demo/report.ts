import { plot } from 'asciichart';
import type { Version } from '../domain/version.ts';

/** What one run of the demo's turns left in Redis. Sizes in tokens. */
export interface DemoRun {
  readonly conversation: string;
  readonly turns: number;
  readonly failedTurns: number;
  /** size of each request, in order */
  readonly requests: readonly SizedRequest[];
  /** tokens of all messages in the log */
  readonly appended: number;
  readonly tokensEnd: number;
  /** oldest first */
  readonly versions: readonly Version[];
}

/** Not sent: it exceeds the window, and its turn failed. */
export interface SizedRequest {
  readonly tokens: number;
  readonly isSent: boolean;
}

export interface DemoSummary {
  readonly turns: number;
  readonly versions: number;
  readonly summarized: number;
  readonly evicted: number;
  readonly tokensPeak: number;
  readonly tokensEnd: number;
  readonly overLimit: number;
}

const PLOT_WIDTH = 72;
const PLOT_HEIGHT = 14;

/** @param usable window − reserved output: a request above it would have been refused by the provider */
export function summarizeRun(run: DemoRun, usable: number): DemoSummary {
  const sent = run.requests.filter(({ isSent }) => isSent);
  return {
    turns: run.turns,
    versions: run.versions.length,
    summarized: run.versions.filter((version) => version.strategy === 'summarize').length,
    evicted: run.versions.filter((version) => version.strategy === 'evict').length,
    tokensPeak: Math.max(0, ...sent.map(({ tokens }) => tokens)),
    tokensEnd: run.tokensEnd,
    overLimit: sent.filter(({ tokens }) => tokens > usable).length,
  };
}

/** The context's size over the model calls of both runs, as lines of text. */
export function plotRuns(compacted: DemoRun, uncompacted: DemoRun, usable: number): string[] {
  const lines = plot([stretch(uncompacted.requests), stretch(compacted.requests)], {
    height: PLOT_HEIGHT,
    min: 0,
    format: (value: number) => `${Math.round(value)}`.padStart(8),
    colors: [undefined, undefined],
  }).split('\n');
  return [
    `tokens in the request, over the model calls of each run; usable window ${usable}`,
    '(the line that only rises is the same conversation with compaction off)',
    '',
    ...lines,
  ];
}

export function describeVersions(versions: readonly Version[]): string[] {
  const rows = versions.map((version) => [
    String(version.number),
    version.strategy,
    version.reasons.join(', '),
    String(version.archived),
    `${version.tokensBefore} → ${version.tokensAfter}`,
    `${version.durationMs} ms`,
  ]);
  return formatTable([['version', 'strategy', 'reasons', 'archived', 'tokens before → after', 'took'], ...rows]);
}

function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** The same number of points for both runs, so that one axis serves. */
function stretch(requests: readonly SizedRequest[]): number[] {
  if (requests.length === 0) return [0];
  return Array.from(
    { length: PLOT_WIDTH },
    (_, column) => requests[Math.floor((column * requests.length) / PLOT_WIDTH)]?.tokens ?? 0,
  );
}
