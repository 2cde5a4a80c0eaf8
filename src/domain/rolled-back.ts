import type { LogEntry } from './message.ts';
import type { Segment, SeqRange, Version } from './version.ts';

export function omitRolledBack(log: readonly LogEntry[], versions: readonly Version[]): LogEntry[] {
  const dropped = findRolledBack(versions);
  return log.filter(({ seq }) => !isWithin(dropped, seq));
}

/** Ranges that rollbacks removed. Messages that a provider refused are not included: a person still sees them. */
export function findRolledBack(versions: readonly Version[]): SeqRange[] {
  return versions.flatMap(rangeOf);
}

/** Rolled-back ranges that no restore has brought back. */
export function findHidden(versions: readonly Version[], segments: readonly Segment[]): SeqRange[] {
  const gone = segments.filter(({ kind }) => kind === 'evicted');
  return findRolledBack(versions).flatMap(({ from, to }) =>
    gone
      .filter((segment) => segment.from <= to && segment.to >= from)
      .map((segment) => ({ from: Math.max(from, segment.from), to: Math.min(to, segment.to) })),
  );
}

export function isWithin(ranges: readonly SeqRange[], seq: number): boolean {
  return ranges.some(({ from, to }) => seq >= from && seq <= to);
}

function rangeOf({ cause, explained, segments, base }: Version): SeqRange[] {
  if (cause !== 'rollback' || !explained.includes('turn_rolled_back')) return [];
  const lastKept = segments.findLastIndex(({ kind }) => kind !== 'evicted');
  const from = (segments[lastKept]?.to ?? 0) + 1;
  return from > base ? [] : [{ from, to: base }];
}
