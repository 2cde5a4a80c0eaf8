import type { LogEntry } from '../../domain/message.ts';
import type { SeqRange, Version } from '../../domain/version.ts';

/** Returns the entries of a log without those that a rollback took out of the context. */
export function omitRolledBack(log: readonly LogEntry[], versions: readonly Version[]): LogEntry[] {
  const dropped = versions.flatMap(findRolledBack);
  return log.filter(({ seq }) => !dropped.some(({ from, to }) => seq >= from && seq <= to));
}

/**
 * Returns the range that a rollback took out of the context: the evicted messages at the end of its version. Messages that a
 * provider refused are no such range, because a person still sees what they wrote.
 */
function findRolledBack({ cause, explained, segments, base }: Version): SeqRange[] {
  if (cause !== 'rollback' || !explained.includes('turn_rolled_back')) return [];
  const lastKept = segments.findLastIndex(({ kind }) => kind !== 'evicted');
  const from = (segments[lastKept]?.to ?? 0) + 1;
  return from > base ? [] : [{ from, to: base }];
}
