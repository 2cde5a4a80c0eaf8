import { plot } from 'asciichart';
import type { Version } from '../../domain/version.ts';

/** Sizes are in tokens. */
export interface DemoRun {
  readonly conversation: string;
  readonly turns: number;
  readonly failures: readonly string[];
  readonly requests: readonly SizedRequest[];
  readonly appended: number;
  readonly tokensEnd: number;
  readonly versions: readonly Version[];
}

export interface SizedRequest {
  readonly tokens: number;
  /** False for a request that is larger than the window. The turn of that request fails. */
  readonly isSent: boolean;
}

interface DemoSummary {
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

/** @param usable the window minus the reserved output. A provider would refuse a larger request. */
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

export function plotRuns(compacted: DemoRun, uncompacted: DemoRun, usable: number): string[] {
  const lines = plot([stretch(uncompacted.requests), stretch(compacted.requests)], {
    height: PLOT_HEIGHT,
    min: 0,
    format: (value: number) => `${Math.round(value)}`.padStart(8),
    colors: [undefined, undefined],
  }).split('\n');
  return [
    `tokens per request over the model calls of each run (usable window ${usable})`,
    '(the line that only rises shows the same conversation without compaction)',
    '',
    ...lines,
  ];
}

/** Failures of the run with compaction come first. */
export function describeRuns(run: DemoRun, without: DemoRun, usable: number): string[] {
  const { tokensPeak, tokensEnd, overLimit } = summarizeRun(run, usable);
  const unsent = without.requests.filter(({ isSent }) => !isSent).length;
  return [
    ...(run.failures.length === 0 ? [] : [`${describeFailures(run)} with compaction on`]),
    `${run.appended} tokens in the log, at most ${tokensPeak} in a request, ${tokensEnd} at the end, ${overLimit} calls over the limit`,
    `without compaction ${unsent} calls exceed the window, and ${describeFailures(without)}`,
  ];
}

function describeFailures({ turns, failures }: DemoRun): string {
  const codes = [...new Set(failures)].map((code) => `${failures.filter((other) => other === code).length} ${code}`);
  return `${failures.length} of ${turns} turns fail${codes.length === 0 ? '' : ` (${codes.join(', ')})`}`;
}

function stretch(requests: readonly SizedRequest[]): number[] {
  if (requests.length === 0) return [0];
  return Array.from(
    { length: PLOT_WIDTH },
    (_, column) => requests[Math.floor((column * requests.length) / PLOT_WIDTH)]?.tokens ?? 0,
  );
}
