import { rangesToRead } from './context-source.ts';
import { subtractRanges } from './seq-ranges.ts';
import type { SeqRange, Version } from './version.ts';

/** Milliseconds without a new log entry after which the log of a conversation is packed up to its last entry. */
export const PACK_AFTER_MS = 3_600_000;

/** `has_enough_to_pack` of `lua/shared/conversation.lua` has the same limits. */
const LEAST_ENTRIES = 8;
const LEAST_BYTES = 4_096;

/** Returns false for few small entries. A pack of them would save next to nothing, so they wait for more. */
export function isWorthPacking(size: { readonly entries: number; readonly bytes: number }): boolean {
  return size.entries >= LEAST_ENTRIES || size.bytes >= LEAST_BYTES;
}

/** The state of a log by which entries are chosen for packing. */
export interface PackableLog {
  /** The live version of the context. */
  readonly version: Version;
  /** Last seq of the log. */
  readonly head: number;
  /** True if no turn, compaction pass or fork is open, and the last entry is older than `PACK_AFTER_MS`. */
  readonly isIdle: boolean;
  /** Seq of the user message of the present turn, which scripts read. 0 if there is none. */
  readonly inputSeq: number;
  /** Ranges of the entries that are packed already, in any order. */
  readonly packed: readonly SeqRange[];
}

/**
 * Chooses the log entries to pack: those that the context no longer shows. They are rarely read. If the conversation is
 * idle, also the entries after the end of the version. The last entry is never packed, because its time tells since when
 * a conversation is idle.
 * @returns ranges in ascending order that do not overlap
 */
export function choosePackable({ version, head, isIdle, inputSeq, packed }: PackableLog): SeqRange[] {
  const base = Math.min(version.base, head);
  const last = Math.min(isIdle ? head : base, head - 1);
  const kept = [...rangesToRead(version, base), { from: inputSeq, to: inputSeq }];
  return subtractRanges({ from: 1, to: last }, [...kept, ...packed]);
}

/** Log entries that one call has packed. */
export interface PackedLog {
  /** Number of log entries. */
  readonly entries: number;
  /** Bytes of these entries in the log. */
  readonly bytes: number;
  /** Bytes of the packs that hold them now. */
  readonly packedBytes: number;
}
