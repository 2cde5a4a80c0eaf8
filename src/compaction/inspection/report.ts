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
import { partTexts } from '../evidence/fragments.ts';
import { type Cost, toCost } from './cost.ts';
import type { IdentifierFates } from './identifiers.ts';

export interface ContextCount {
  /** Number of messages. A summary counts as one. */
  readonly messages: number;
  /** Size of a whole request, counted when the version was made. */
  readonly tokens: number;
}

export interface ReportedSummary extends SeqRange {
  /** Id of the summarizer, e.g. `structural`. */
  readonly strategy: string;
  /** Tokens of the summary in the context. */
  readonly tokens: number;
  readonly sourceTokens: number;
  /** Text of the summary. */
  readonly text: string;
  /** Identifiers of the replaced messages that the summary kept or lost. */
  readonly identifiers: IdentifierFates;
}

/** Differences of a version from the context of its parent. */
export interface CompactionReport {
  readonly version: number;
  /** Parent of the version. Null for version 0. */
  readonly parent: number | null;
  readonly cause: Version['cause'];
  /** Reasons of the compaction. Empty without a compaction. */
  readonly reasons: readonly string[];
  /** In ms since epoch. */
  readonly at: number;
  /** Ms from the request for the compaction until its version was built, without a review. Absent if no compaction made it. */
  readonly durationMs?: number;
  /** The context of the parent when the version was made. */
  readonly before: ContextCount;
  /** The context of the version when it was made. */
  readonly after: ContextCount;
  /** Absent if no model wrote new summaries. */
  readonly cost?: Cost;
  /** Summaries that are new in this version. */
  readonly parts: readonly ReportedSummary[];
  /** Ranges that left the context with this version, without a summary. */
  readonly evicted: readonly ReportedRange[];
  /** Ranges that this version masked or clipped. */
  readonly shortened: readonly ReportedRange[];
}

export interface ReportedRange extends SeqRange {
  /** Words of this range that the context kept or lost. Present only after a search that found words. */
  readonly identifiers?: IdentifierFates;
}

export interface ReportFrame extends Omit<CompactionReport, 'parts' | 'cost' | 'evicted' | 'shortened'> {
  readonly evicted: readonly SeqRange[];
  readonly shortened: readonly SeqRange[];
}

/** @param parent undefined if it is no longer kept. The version is then compared with the whole log */
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

export function findNewSummaries({ number, segments }: Version): SummarySegment[] {
  return segments.filter((segment) => segment.kind === 'summary').filter(({ version }) => version === number);
}

/** @returns undefined if no model wrote any of the summaries */
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

/** Counts the messages that are shown, up to position `head` of the log. */
function countShown({ segments, base }: Version, head: number): number {
  return segments.reduce(
    (count, { kind, from, to }) => count + (kind === 'evicted' ? 0 : kind === 'summary' ? 1 : to - from + 1),
    Math.max(0, head - base),
  );
}

/** @param entries the log entries of the range */
export function* showRange(version: Version, range: SeqRange, entries: readonly LogEntry[]): Interruptible<string> {
  const segments = version.segments.flatMap((segment): Segment[] => {
    const [from, to] = [Math.max(segment.from, range.from), Math.min(segment.to, range.to)];
    return from <= to && segment.kind !== 'summary' ? [{ ...segment, from, to }] : [];
  });
  // The base is set to the end of the range, so that no entry follows the segments.
  const shown = { ...version, segments, base: range.to };
  const { items } = yield* buildInSlices({ version: shown, head: range.to, entries, summaries: new Map() });
  return items
    .map(({ message }) =>
      partTexts(message)
        .map(({ text }) => text)
        .join('\n'),
    )
    .join('\n');
}
