import { plot } from 'asciichart';
import type { Version } from '../domain/version.ts';

/** What one run of the demo's turns left in Redis. Sizes in tokens. */
export interface DemoRun {
  readonly conversation: string;
  readonly turns: number;
  /** codes of the turns that failed, in order */
  readonly failures: readonly string[];
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

/** What both runs came to, in sentences. A turn that failed with compaction on is said first. */
export function describeRuns(run: DemoRun, without: DemoRun, usable: number): string[] {
  const { tokensPeak, tokensEnd, overLimit } = summarizeRun(run, usable);
  const unsent = without.requests.filter(({ isSent }) => !isSent).length;
  return [
    ...(run.failures.length === 0 ? [] : [`${describeFailures(run)} with compaction on`]),
    `${run.appended} tokens in the log, at most ${tokensPeak} in a request, ${tokensEnd} at the end; ${overLimit} calls over the limit`,
    `without compaction ${unsent} calls exceed the window, and ${describeFailures(without)}`,
  ];
}

function describeFailures({ turns, failures }: DemoRun): string {
  const codes = [...new Set(failures)].map((code) => `${failures.filter((other) => other === code).length} ${code}`);
  return `${failures.length} of ${turns} turns fail${codes.length === 0 ? '' : ` (${codes.join(', ')})`}`;
}

/** The same number of points for both runs, so that one axis serves. */
function stretch(requests: readonly SizedRequest[]): number[] {
  if (requests.length === 0) return [0];
  return Array.from(
    { length: PLOT_WIDTH },
    (_, column) => requests[Math.floor((column * requests.length) / PLOT_WIDTH)]?.tokens ?? 0,
  );
}
