import { rangesToRead } from './context-source.ts';
import { subtractRanges } from './seq-ranges.ts';
import type { SeqRange, Version } from './version.ts';

/** A log is idle, and is packed up to its last entry, after this time without a new entry. */
export const PACK_AFTER_MS = 3_600_000;

/** Minimum entries of a pack. `has_enough_to_pack` of `lua/shared/conversation.lua` has the same limits. */
const LEAST_ENTRIES = 8;
const LEAST_BYTES = 4_096;

/** A pack of few small entries would save next to nothing. */
export function isWorthPacking(size: { readonly entries: number; readonly bytes: number }): boolean {
  return size.entries >= LEAST_ENTRIES || size.bytes >= LEAST_BYTES;
}

export interface PackableLog {
  readonly version: Version;
  readonly head: number;
  /** No turn, pass or fork is open, and the last entry is older than `PACK_AFTER_MS`. */
  readonly isIdle: boolean;
  /** Seq of the present turn's user message, or 0. The message stays unpacked, because Redis scripts read it. */
  readonly inputSeq: number;
  readonly packed: readonly SeqRange[];
}

/**
 * Chooses entries that the context no longer shows, and later ones if the log is idle. The last entry is never packed,
 * because its time shows since when the log is idle.
 */
export function choosePackable({ version, head, isIdle, inputSeq, packed }: PackableLog): SeqRange[] {
  const base = Math.min(version.base, head);
  const last = Math.min(isIdle ? head : base, head - 1);
  const kept = [...rangesToRead(version, base), { from: inputSeq, to: inputSeq }];
  return subtractRanges({ from: 1, to: last }, [...kept, ...packed]);
}

export interface PackedLog {
  /** Number of packed log entries. */
  readonly entries: number;
  /** Bytes of these entries in the log. */
  readonly bytes: number;
  /** Bytes of the packs that hold them now. */
  readonly packedBytes: number;
}
