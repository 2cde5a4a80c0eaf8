import type { LogEntry } from '../../domain/message.ts';
import type { SeqRange, Version } from '../../domain/version.ts';

/** Returns the entries of a log without those that a rollback took out of the context. */
export function omitRolledBack(log: readonly LogEntry[], versions: readonly Version[]): LogEntry[] {
  const dropped = findRolledBack(versions);
  return log.filter(({ seq }) => !dropped.some(({ from, to }) => seq >= from && seq <= to));
}

/**
 * Returns the ranges that rollbacks took out of the context: the evicted messages at the end of their versions. Messages that
 * a provider refused are no such range, because a person still sees what they wrote.
 */
export function findRolledBack(versions: readonly Version[]): SeqRange[] {
  return versions.flatMap(rangeOf);
}

function rangeOf({ cause, explained, segments, base }: Version): SeqRange[] {
  if (cause !== 'rollback' || !explained.includes('turn_rolled_back')) return [];
  const lastKept = segments.findLastIndex(({ kind }) => kind !== 'evicted');
  const from = (segments[lastKept]?.to ?? 0) + 1;
  return from > base ? [] : [{ from, to: base }];
}
