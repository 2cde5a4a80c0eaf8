import type { LogEntry } from './message.ts';
import { joinRanges } from './seq-ranges.ts';
import type { Segment, SeqRange, Summary, Version } from './version.ts';

/** Log entries and summaries from the store, from which a context is built. */
export interface ContextSource {
  readonly version: Version;
  readonly head: number;
  /**
   * Log entries that appear in the context, in ascending order: those of segments that show messages, and all entries
   * after `version.base`.
   */
  readonly entries: readonly LogEntry[];
  readonly summaries: ReadonlyMap<string, Summary>;
  /**
   * Sequence numbers of the running turn's user message, and of the messages that steered the turn. Absent if no turn
   * runs, or if the message of the turn is not in the log yet.
   */
  readonly inputs?: readonly number[];
}

/** Kinds of segments that need no log entries, because their messages do not appear in the context. */
const WITHOUT_ENTRIES: ReadonlySet<Segment['kind']> = new Set(['summary', 'evicted']);

/**
 * Lists the ranges of log entries that must be read to build a context, in ascending order. Adjacent ranges are joined.
 */
export function rangesToRead(version: Version, head: number): SeqRange[] {
  const tail = { kind: 'raw' as const, from: version.base + 1, to: head };
  const read = [...version.segments, tail].filter(({ kind, from, to }) => !WITHOUT_ENTRIES.has(kind) && from <= to);
  return joinRanges(read);
}
