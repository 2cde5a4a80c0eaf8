import type { ConversationRef } from '../ids.ts';

/**
 * Due work that the sweeper must look at now. It is a turn, a compaction pass, a scheduled turn, or a conversation that
 * possibly reached its idle TTL.
 */
export interface DueEntry {
  readonly kind: 'turn' | 'pass' | 'scheduled' | 'idle';
  readonly conversation: ConversationRef;
  readonly turn?: string;
}

/** Redis sets whose members the sweeper examines. `key` stands for a whole key with the wrong data type. */
export const QUARANTINE_SETS = ['ready', 'idle', 'passes', 'failed', 'key'] as const;
export type QuarantineSet = (typeof QUARANTINE_SETS)[number];

/** An unreadable record that was moved aside, so that the sweeper can process the rest of its shard (invariant I12). */
export interface QuarantineEntry {
  readonly shard: number;
  /** Redis set that contained the record. */
  readonly set: QuarantineSet;
  /** Member of the set, or name of the key. */
  readonly name: string;
  /** Why the record is unreadable, without its contents. */
  readonly why: string;
}

/** A conversation's record that cannot be read and must be moved aside. */
export interface UnreadableRecord {
  readonly key: string;
  /** Why the record is unreadable, without its contents. */
  readonly why: string;
  /** Id of a queue job to add if a turn waits for this record. */
  readonly wakeTurn: string;
}

/** Result of one sweep over several shards. */
export interface Sweep {
  readonly quarantined: readonly QuarantineEntry[];
  /** Entries of due work. Includes late answers of shards to an earlier sweep. */
  readonly due: readonly DueEntry[];
  /** Error of one shard that could not be examined. */
  readonly failure?: Error;
}

export type SweepDecision =
  /**
   * No worker owns the due work, and its queue job is possibly lost. The sweeper checks whether the job is in the
   * queue.
   */
  | {
      readonly status: 'lapsed';
      /** True if a worker had claimed the work, and its lease lapsed. */
      readonly hadWorker: boolean;
      readonly recordedWake?: string;
    }
  /** A worker owns the due work, or the work waits, or nothing is left to do. The sweeper does nothing. */
  | { readonly status: 'quiet' };

/** Backlog of all shards. Ages are in ms, 0 if nothing has that age. */
export interface ShardMeasure {
  /** Number of entries that are overdue, by kind. */
  readonly overdue: Readonly<Record<DueEntry['kind'], number>>;
  /**
   * Age of the oldest overdue turn, compaction pass or scheduled turn. Erases are not included, because they may take
   * long.
   */
  readonly oldestOverdueMs: number;
  /** Number of compaction passes that are requested or in progress, without those that wait for a person's decision. */
  readonly openPasses: number;
  /** Milliseconds since the oldest open compaction pass was requested. */
  readonly oldestOpenPassMs: number;
  /** Number of stored failed turns, including those that were run again. */
  readonly failedTurns: number;
  /** Milliseconds since the most overdue idle conversation should have been erased. */
  readonly oldestIdleMs: number;
  /** Number of unreadable records that are set aside until a person repairs or deletes them. */
  readonly quarantined: number;
}

export type ExpireResult =
  /** Nothing was erased, because the conversation is in use again or does not exist. */
  | { readonly status: 'kept' }
  /** A part was erased. The next sweep continues. */
  | { readonly status: 'more' }
  /**
   * Everything is erased. Exactly one call gets this answer, even if the call is repeated. `removedKeys` counts the
   * keys that all calls removed.
   */
  | { readonly status: 'expired'; readonly removedKeys: number }
  /** An erase that had been interrupted is now complete. */
  | { readonly status: 'resumed' };

/** Finds overdue work and erases idle conversations, for the sweeper. */
export interface SweepStore {
  readonly shards: number;
  /**
   * Claims the shards that were last swept at least a second ago, and returns up to `limit` due entries per shard. Each
   * returned entry becomes due again later (after 1 s, doubling up to 60 s). The call ends within about a second. A
   * shard that does not answer, e.g. without a master, does not delay the others.
   */
  sweepShards(shards: readonly number[], limit: number): Promise<Sweep>;
  /**
   * Takes or renews the lease of the one process that sweeps for all. With 0 ms, releases the lease. While the server
   * of the lease does not answer, every process gets the lease. The shard claims then keep sweeps a second apart.
   * @returns Redis' time in ms if `owner` has the lease now (Infinity while its server is away), or undefined
   */
  holdSweeping(owner: string, leaseMs: number): Promise<number | undefined>;
  /**
   * As `sweepShards`, for the shards that have an entry of due work at the time `now`. Each call looks for idle
   * conversations in a quarter of the shards, a different quarter each time. It also sweeps one of 64 shards that have no
   * due work.
   */
  sweepDue(now: number, limit: number): Promise<Sweep>;
  /**
   * Ends all leases of a dead worker, and its claims on summaries. Owners and epochs stay, so a worker that is alive after
   * all continues or is fenced (I8). A pass that waits for a summary of the dead worker stops waiting.
   * @returns the due work of the shards that answer in time
   */
  lapseLeases(worker: string): Promise<Sweep>;
  /**
   * Moves an entry aside whose records cannot be processed.
   * @param why reason, without contents
   * @returns undefined if the entry no longer exists
   */
  quarantine(entry: DueEntry, why: string): Promise<QuarantineEntry | undefined>;
  /**
   * Moves a record aside that workers can create again: a summary, or the open compaction pass, which ends as failed.
   * If the answer has `needsWake`, the caller adds the queue job.
   * @returns undefined if the key does not exist or holds another kind of record
   */
  quarantineRecord(
    conversation: ConversationRef,
    request: UnreadableRecord,
  ): Promise<{ readonly setAside: QuarantineEntry; readonly needsWake: boolean } | undefined>;
  inspectTurn(conversation: ConversationRef): Promise<SweepDecision>;
  inspectPass(conversation: ConversationRef): Promise<SweepDecision>;
  /**
   * Stores the id of the queue job that the sweeper is about to add. Returns false if a worker has claimed the work
   * meanwhile.
   */
  recordWake(entry: DueEntry, wake: string): Promise<boolean>;
  /**
   * Moves a due scheduled turn to the end of its conversation's queue of turns. If the answer has `needsWake`, the
   * caller adds the queue job.
   */
  promoteScheduled(conversation: ConversationRef, turn: string, wake: string): Promise<{ readonly needsWake: boolean }>;
  /**
   * Erases the conversation in a few batches, if it has been idle for its policy's TTL.
   * @param owner new id for each call
   */
  expire(conversation: ConversationRef, owner: string): Promise<ExpireResult>;
  /**
   * Measures the backlog of all shards that answer.
   * @throws redis_unavailable if no shard answers
   */
  measureShards(): Promise<ShardMeasure>;
}

/** Minimum pause between two sweeps of the same shard, in ms. */
export const SWEEP_CLAIM_MS = 1_000;
