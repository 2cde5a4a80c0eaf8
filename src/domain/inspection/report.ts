import { diffInSlices } from '../diff.ts';
import type { Sliced } from '../sliced.ts';
import { type SeqRange, START_VERSION, type Summary, type SummarySegment, type Version } from '../version.ts';
import { type Cost, toCost } from './cost.ts';
import type { IdentifierFates } from './identifiers.ts';

/** Number of messages in a context, and its size. */
export interface ContextCount {
  readonly messages: number;
  /** Tokens of a whole request, counted when the version was made. */
  readonly tokens: number;
}

/** A summary that is new in a version, beside what it replaced. */
export interface ReportedSummary extends SeqRange {
  /** Id of the summarizer that wrote the text, e.g. `structural`. */
  readonly strategy: string;
  /** Tokens of the summary in the context. */
  readonly tokens: number;
  /** Tokens of the replaced messages in the log. */
  readonly sourceTokens: number;
  readonly text: string;
  readonly identifiers: IdentifierFates;
}

/** What a version did to the context of its parent. */
export interface CompactionReport {
  readonly version: number;
  readonly parent: number | null;
  readonly cause: Version['cause'];
  readonly reasons: readonly string[];
  /** Time of the commit in ms since epoch. */
  readonly at: number;
  /** Milliseconds from the request for the compaction to its commit. Absent if no compaction made the version. */
  readonly durationMs?: number;
  readonly before: ContextCount;
  readonly after: ContextCount;
  /** Usage of the model calls that wrote the new summaries. Absent if no model wrote any. */
  readonly cost?: Cost;
  /** Summaries that are new in this version. */
  readonly parts: readonly ReportedSummary[];
  /** Ranges that left the context with this version, without a summary. */
  readonly evicted: readonly SeqRange[];
  /** Ranges that this version masked or clipped. */
  readonly shortened: readonly SeqRange[];
}

/** A report without the summaries, which need the log. */
export type ReportFrame = Omit<CompactionReport, 'parts' | 'cost'>;

/**
 * Compares a version with its parent.
 * @param parent undefined if it is no longer kept. The version is then compared with the whole log
 */
export function* frameReport(version: Version, parent: Version | undefined): Sliced<ReportFrame> {
  const { number, cause, reasons, at, durationMs, base, archived, tokensBefore, tokensAfter } = version;
  const changes = yield* diffInSlices(parent ?? START_VERSION, version);
  const ranges = (isMeant: (kind: string) => boolean): SeqRange[] =>
    changes.flatMap(({ from, to, after }) => (isMeant(after) ? [{ from, to }] : []));
  const messages = countShown(version, base);
  return {
    version: number,
    parent: version.parent,
    cause,
    reasons,
    at,
    ...(cause === 'pass' && { durationMs }),
    before: {
      messages: parent === undefined ? messages + archived : countShown(parent, base),
      tokens: tokensBefore,
    },
    after: { messages, tokens: tokensAfter },
    evicted: joinRanges(ranges((kind) => kind === 'evicted')),
    shortened: joinRanges(ranges((kind) => kind === 'masked' || kind === 'clipped' || kind === 'excerpt')),
  };
}

/** Lists the summaries that a version introduced. */
export function findNewSummaries({ number, segments }: Version): SummarySegment[] {
  return segments.filter((segment) => segment.kind === 'summary').filter(({ version }) => version === number);
}

/** Sums the usage of the calls that wrote these summaries. @returns undefined if no model wrote any of them */
export function sumCost(summaries: readonly Pick<Summary, 'usage'>[]): Cost | undefined {
  const used = summaries.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
  if (used.length === 0) return undefined;
  const sum = (name: keyof (typeof used)[number]): number => used.reduce((all, usage) => all + usage[name], 0);
  return toCost({
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cachedTokens: sum('cachedTokens'),
    costMicros: sum('costMicros'),
  });
}

/** Counts the messages of a context that ends at `head`. A summary is one message. */
function countShown({ segments, base }: Version, head: number): number {
  return segments.reduce(
    (count, { kind, from, to }) => count + (kind === 'evicted' ? 0 : kind === 'summary' ? 1 : to - from + 1),
    Math.max(0, head - base),
  );
}

/** Joins neighbours, which have other kinds in the parent. */
function joinRanges(ranges: readonly SeqRange[]): SeqRange[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = joined.at(-1);
    if (last?.to === from - 1) last.to = to;
    else joined.push({ from, to });
  }
  return joined;
}
