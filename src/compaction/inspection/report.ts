import type { Interruptible } from '../../domain/interruptible.ts';
import type { LogEntry } from '../../domain/message.ts';
import { joinRanges } from '../../domain/seq-ranges.ts';
import {
  type Segment,
  type SeqRange,
  START_VERSION,
  type Summary,
  type SummarySegment,
  type Version,
} from '../../domain/version.ts';
import { buildInSlices } from '../context.ts';
import { diffInSlices } from '../diff.ts';
import { partsOf } from '../evidence/fragments.ts';
import { type Cost, toCost } from './cost.ts';
import type { IdentifierFates } from './identifiers.ts';

/** Number of messages in a context, and its size. */
export interface ContextCount {
  /** Number of messages. A summary is one. */
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
  /** Text of the summary. */
  readonly text: string;
  /** Identifiers that the text kept or lost from the replaced messages. */
  readonly identifiers: IdentifierFates;
}

/** Differences of a version from the context of its parent. */
export interface CompactionReport {
  /** Number of the version. */
  readonly version: number;
  /** Number of the version that it was made from. Null for the first. */
  readonly parent: number | null;
  /** Origin of the version. */
  readonly cause: Version['cause'];
  /** Why the context was compacted. Empty without a compaction. */
  readonly reasons: readonly string[];
  /** Time of the commit in ms since epoch. */
  readonly at: number;
  /** Milliseconds from the request for the compaction to its commit. Absent if no compaction made the version. */
  readonly durationMs?: number;
  /** The context of the parent when the version was made. */
  readonly before: ContextCount;
  /** The context of the version when it was made. */
  readonly after: ContextCount;
  /** Usage of the model calls that wrote the new summaries. Absent if no model wrote any. */
  readonly cost?: Cost;
  /** Summaries that are new in this version. */
  readonly parts: readonly ReportedSummary[];
  /** Ranges that left the context with this version, without a summary. */
  readonly evicted: readonly ReportedRange[];
  /** Ranges that this version masked or clipped. */
  readonly shortened: readonly ReportedRange[];
}

/** A range that a version removed or shortened. */
export interface ReportedRange extends SeqRange {
  /** Words of this range that the context kept or lost. Present only after a search that found words. */
  readonly identifiers?: IdentifierFates;
}

/** A report without everything that needs the log. */
export interface ReportFrame extends Omit<CompactionReport, 'parts' | 'cost' | 'evicted' | 'shortened'> {
  readonly evicted: readonly SeqRange[];
  readonly shortened: readonly SeqRange[];
}

/**
 * Compares a version with its parent.
 * @param parent undefined if it is no longer kept. The version is then compared with the whole log
 */
export function* frameReport(version: Version, parent: Version | undefined): Interruptible<ReportFrame> {
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

/** Counts the messages that a version shows up to position `head` of the log. A summary counts as one message. */
function countShown({ segments, base }: Version, head: number): number {
  return segments.reduce(
    (count, { kind, from, to }) => count + (kind === 'evicted' ? 0 : kind === 'summary' ? 1 : to - from + 1),
    Math.max(0, head - base),
  );
}

/**
 * Returns the text that a version shows in place of a range.
 * @param entries the log entries of the range
 */
export function* showRange(version: Version, range: SeqRange, entries: readonly LogEntry[]): Interruptible<string> {
  const segments = version.segments.flatMap((segment): Segment[] => {
    const [from, to] = [Math.max(segment.from, range.from), Math.min(segment.to, range.to)];
    return from <= to && segment.kind !== 'summary' ? [{ ...segment, from, to }] : [];
  });
  // The base is behind the range, so that no entry follows the segments.
  const shown = { ...version, segments, base: range.to };
  const { items } = yield* buildInSlices({ version: shown, head: range.to, entries, summaries: new Map() });
  return items
    .map(({ message }) =>
      partsOf(message)
        .map(({ text }) => text)
        .join('\n'),
    )
    .join('\n');
}
