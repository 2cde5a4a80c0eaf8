import type { LogEntry } from './message.ts';
import { joinRanges } from './seq-ranges.ts';
import type { Segment, SeqRange, Summary, Version } from './version.ts';

export interface ContextSource {
  readonly version: Version;
  readonly head: number;
  /** Log entries that appear in the context, ascending, all entries after `version.base` included. */
  readonly entries: readonly LogEntry[];
  readonly summaries: ReadonlyMap<string, Summary>;
  /** Seqs of the running turn's user message and of the messages that steered it. Absent before the first is logged. */
  readonly inputs?: readonly number[];
}

const WITHOUT_ENTRIES: ReadonlySet<Segment['kind']> = new Set(['summary', 'evicted']);

export function rangesToRead(version: Version, head: number): SeqRange[] {
  const tail = { kind: 'raw' as const, from: version.base + 1, to: head };
  const read = [...version.segments, tail].filter(({ kind, from, to }) => !WITHOUT_ENTRIES.has(kind) && from <= to);
  return joinRanges(read);
}
