import type { LogEntry } from './message.ts';
import { joinRanges } from './seq-ranges.ts';
import type { Segment, SeqRange, Summary, Version } from './version.ts';

export interface ContextSource {
  readonly version: Version;
  readonly head: number;
  /**
   * Log entries that appear in the context, ascending: entries of shown segments, and all entries after `version.base`.
   */
  readonly entries: readonly LogEntry[];
  readonly summaries: ReadonlyMap<string, Summary>;
  /**
   * Seqs of the running turn's user message and of the messages that steered the turn. Absent before the first is
   * logged.
   */
  readonly inputs?: readonly number[];
}

const WITHOUT_ENTRIES: ReadonlySet<Segment['kind']> = new Set(['summary', 'evicted']);

/** Lists the log ranges to read for a context, ascending. Adjacent ranges are joined. */
export function rangesToRead(version: Version, head: number): SeqRange[] {
  const tail = { kind: 'raw' as const, from: version.base + 1, to: head };
  const read = [...version.segments, tail].filter(({ kind, from, to }) => !WITHOUT_ENTRIES.has(kind) && from <= to);
  return joinRanges(read);
}
