import { fieldError } from '../domain/errors.ts';
import { groupInSlices } from '../domain/group.ts';
import { seqOfCallId } from '../domain/ids.ts';
import { forEachInSlices, type Interruptible } from '../domain/interruptible.ts';
import { FRAMING_TOKENS } from '../domain/limits.ts';
import { addWeights, type LogEntry, NO_WEIGHT, subtractWeights, type Weight } from '../domain/message.ts';
import { type Segment, type SeqRange, START_VERSION, type Version, weighVersion } from '../domain/version.ts';
import { weighItems } from './context.ts';

export interface LogEnd {
  readonly head: number;
  readonly total: Weight;
}

export interface RestoredParts {
  readonly cause: 'restore' | 'rollback';
  readonly live: Version;
  readonly target: Version;
  /** Segments over seqs target.base + 1…log.head. */
  readonly newer: readonly Segment[];
  readonly log: LogEnd;
  /** Weight of the system prompt and the tools. */
  readonly outside: Weight;
  readonly explained: readonly string[];
  readonly now: number;
}

export function restoreVersion(parts: RestoredParts): Version {
  const { cause, live, target, newer, log, outside, now } = parts;
  const segments = joinSegments([...target.segments, ...newer]);
  const { placeholder: _, ...shown } = target;
  const placed = { weight: weighSegments(segments), ...placeholderOf(target) };
  const before = addWeights(addWeights(weighVersion(live), subtractWeights(log.total, live.baseTotal)), outside);
  const after = addWeights(weighVersion(placed), outside);
  return {
    ...shown,
    ...placed,
    ...hashesOf(live, target),
    number: live.number + 1,
    parent: live.number,
    cause,
    reasons: [],
    strategy: 'none',
    base: log.head,
    segments,
    baseTotal: log.total,
    measuredAt: { head: log.head, ...after },
    tokensBefore: before.tokens,
    tokensAfter: after.tokens,
    archived: countArchived(live, segments),
    explained: [...parts.explained],
    floorRelaxed: false,
    at: now,
    durationMs: 0,
    model: null,
  };
}

function weighSegments(segments: readonly Segment[]): Weight {
  return weighItems(segments.map(({ weight }) => weight));
}

/** Placeholder of a version. Older records include it in `weight`. */
function placeholderOf(version: Version): Pick<Version, 'placeholder'> {
  const placeholder = subtractWeights(weighVersion(version), weighSegments(version.segments));
  const isEmpty = version.segments.every(({ kind }) => kind === 'evicted');
  return placeholder.tokens > 0 && placeholder.bytes >= 0 && !isEmpty ? { placeholder } : {};
}

/** Hashes of the current agent. A live version 0 has no hashes, so the restored version has them. */
function hashesOf(
  live: Version,
  target: Version,
): Pick<Version, 'policyHash' | 'systemHash' | 'toolsHash' | 'pinsHash'> {
  const { policyHash, systemHash, toolsHash, pinsHash } = live.number === START_VERSION.number ? target : live;
  return { policyHash, systemHash, toolsHash, pinsHash };
}

export function endBefore(entry: LogEntry | undefined): LogEnd | undefined {
  return entry && { head: entry.seq - 1, total: subtractWeights(entry.total, entry) };
}

/** Keeps the entries between two places of the log. Their weight is a difference of totals, so no entry is read. */
export function keepBetween(start: LogEnd, end: LogEnd): Segment[] {
  if (start.head >= end.head) return [];
  return [{ kind: 'raw', from: start.head + 1, to: end.head, weight: subtractWeights(end.total, start.total) }];
}

/**
 * Evicts the entries after a restored version. Pinned groups stay, and so do results of earlier calls, because a
 * request with an unanswered call is invalid.
 * @param entries all entries from the first evicted one to the head of the log
 */
export function* evictNewer(entries: readonly LogEntry[]): Interruptible<Segment[]> {
  const first = entries[0]?.seq ?? 0;
  const kept = new Set<number>();
  const own: LogEntry[] = [];
  yield* forEachInSlices(entries, (entry) => {
    if (answersBefore(entry.message, first)) kept.add(entry.seq);
    else own.push(entry);
  });
  const groups = yield* groupInSlices(own.map(({ message }) => message));
  yield* forEachInSlices(groups, ({ positions }) => {
    const members = positions.map((position) => own[position] as LogEntry);
    if (members.some(({ message }) => message.pinned === true)) for (const { seq } of members) kept.add(seq);
  });
  const segments: Segment[] = [];
  yield* forEachInSlices(entries, ({ seq, tokens, bytes }) => {
    const range = { from: seq, to: seq };
    if (kept.has(seq)) addSegment(segments, { kind: 'raw', ...range, weight: { tokens, bytes } });
    else addSegment(segments, { kind: 'evicted', ...range, weight: NO_WEIGHT });
  });
  return segments;
}

function answersBefore({ toolCallId }: LogEntry['message'], first: number): boolean {
  return toolCallId !== undefined && seqOfCallId(toolCallId) < first;
}

/**
 * Weight of the system prompt and tools. The caller of a restore does not know the agent, but the newest measured
 * version does. @param versions oldest first
 */
export function weighOutside(versions: readonly Version[]): Weight {
  // A version that a worker put back is skipped: its measured size includes log entries after its base.
  const measured = versions.findLast(({ base, measuredAt }) => measuredAt.head === base);
  if (measured === undefined) return { tokens: FRAMING_TOKENS, bytes: 0 };
  const { measuredAt } = measured;
  const weight = weighVersion(measured);
  return {
    tokens: Math.max(FRAMING_TOKENS, measuredAt.tokens - weight.tokens),
    bytes: Math.max(0, measuredAt.bytes - weight.bytes),
  };
}

/** Version that was live when the log ended before `seq`. Undefined if the version is no longer kept. */
export function findVersionBefore(versions: readonly Version[], seq: number): Version | undefined {
  const found = versions.findLast(({ base }) => base < seq);
  const isWhole = versions.length === 0 || versions[0]?.number === 1;
  return found ?? (isWhole ? START_VERSION : undefined);
}

/** @param field argument that chose the context @throws over_hard_limit with the calculation */
export function checkHardLimit(version: Version, outside: Weight, hardTokens: number, field = 'version'): void {
  const { tokensAfter } = version;
  if (tokensAfter < hardTokens) return;
  const parts = `messages ${weighVersion(version).tokens} + system, tools and framing ${outside.tokens}`;
  const why = `the restored context would have ${tokensAfter} tokens (${parts}), but must stay below the hard limit of ${hardTokens}. Restore a smaller version`;
  const sum = `${parts} = ${tokensAfter} >= hard limit ${hardTokens}`;
  throw fieldError('over_hard_limit', field, why, { details: { sum } });
}

/** Counts the messages that the live context shows individually, and the new context does not. */
function countArchived(live: Version, segments: readonly Segment[]): number {
  const tail = { kind: 'raw', from: live.base + 1, to: Number.MAX_SAFE_INTEGER } as const;
  const shown = [...live.segments, tail].filter((segment) => !isArchive(segment));
  let count = 0;
  let first = 0;
  for (const gone of segments.filter(isArchive)) {
    while ((shown[first]?.to ?? gone.from) < gone.from) first += 1;
    for (let at = first; (shown[at]?.from ?? Number.POSITIVE_INFINITY) <= gone.to; at += 1) {
      const { from, to } = shown[at] as SeqRange;
      count += Math.max(0, Math.min(gone.to, to) - Math.max(gone.from, from) + 1);
    }
  }
  return count;
}

function isArchive({ kind }: Pick<Segment, 'kind'>): boolean {
  return kind === 'evicted' || kind === 'summary';
}

function joinSegments(segments: readonly Segment[]): Segment[] {
  const joined: Segment[] = [];
  for (const segment of segments) addSegment(joined, segment);
  return joined;
}

function addSegment(joined: Segment[], segment: Segment): void {
  const last = joined.at(-1);
  const isSame = last !== undefined && last.kind === segment.kind;
  if (isSame && (segment.kind === 'raw' || segment.kind === 'evicted')) {
    joined[joined.length - 1] = { ...last, to: segment.to, weight: addWeights(last.weight, segment.weight) };
  } else joined.push(segment);
}
