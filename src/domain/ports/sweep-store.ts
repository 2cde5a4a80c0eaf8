import type { ConversationRef } from '../ids.ts';

/**
 * An entry whose time has come: a turn, a pass, a scheduled turn, or a conversation that may have reached its idle TTL.
 */
export interface DueEntry {
  readonly kind: 'turn' | 'pass' | 'scheduled' | 'idle';
  readonly conversation: ConversationRef;
  readonly turn?: string;
}

/** Sets of a shard whose members the sweeper examines. `key` stands for a whole key of another type. */
export const QUARANTINE_SETS = ['ready', 'idle', 'passes', 'failed', 'key'] as const;
export type QuarantineSet = (typeof QUARANTINE_SETS)[number];

/** An unreadable record that was set aside, so that the sweep of its shard continues (I12). */
export interface QuarantineEntry {
  readonly shard: number;
  /** Set that contained the record. */
  readonly set: QuarantineSet;
  /** Member of the set, or name of the key. */
  readonly name: string;
  /** Fault of the record, without contents. */
  readonly why: string;
}

/** An unreadable record of a conversation, to be set aside. */
export interface UnreadableRecord {
  readonly key: string;
  /** Fault of the record, without contents. */
  readonly why: string;
  /** Id of the wake that is recorded if a turn waits for this record. */
  readonly wakeTurn: string;
}

/** Result of one sweep over many shards. */
export interface Sweep {
  readonly quarantined: readonly QuarantineEntry[];
  /** Due entries of the shards that answered, also of late answers to an earlier sweep. */
  readonly due: readonly DueEntry[];
  /** Error of one shard that could not be swept. */
  readonly failure?: Error;
}

export type SweepDecision =
  /** No lease is valid, and the recorded wake may be lost. The sweeper looks for the wake in the queue. */
  | { readonly status: 'lapsed'; readonly recordedWake?: string }
  /** A valid lease, a wait, or no work left. The sweeper does nothing. */
  | { readonly status: 'quiet' };

/** Backlog of the shards. Ages are in ms, 0 if there is no entry. */
export interface ShardMeasure {
  /** Entries past their time, by kind. */
  readonly overdue: Readonly<Record<DueEntry['kind'], number>>;
  /** Age of the oldest overdue turn, pass or scheduled turn. Erases are not included, because they may take long. */
  readonly oldestOverdueMs: number;
  /** Passes that are requested or in progress, without those that wait for a decision of a person. */
  readonly openPasses: number;
  /** Time since the request of the oldest open pass. */
  readonly oldestOpenPassMs: number;
  /** Failed turns that are kept, also those that were re-driven. */
  readonly failedTurns: number;
  /** Delay of the oldest idle conversation after its time. */
  readonly oldestIdleMs: number;
  /** Records that stay set aside until a person repairs or drops them. */
  readonly quarantined: number;
}

export type ExpireResult =
  /** The conversation was active meanwhile, or there is nothing to erase. */
  | { readonly status: 'kept' }
  /** The erase has begun or continued. The next sweep continues it. */
  | { readonly status: 'more' }
  /**
   * Nothing is left. Each expiry is answered to one call, also if that call is repeated. `removedKeys` counts the keys of
   * all calls.
   */
  | { readonly status: 'expired'; readonly removedKeys: number }
  /** An interrupted erase is complete now. */
  | { readonly status: 'resumed' };

/** Due work and expiry, for the sweeper. */
export interface SweepStore {
  readonly shards: number;
  /**
   * Claims the shards whose last sweep is at least a second ago, and returns their due entries, at most `limit` per
   * shard. Each returned entry is postponed (1 s, doubling up to 60 s). The call ends within about a second. A silent
   * shard, e.g. without a master, does not delay the others.
   */
  sweepShards(shards: readonly number[], limit: number): Promise<Sweep>;
  /**
   * Sets aside an entry whose records cannot be processed.
   * @param why reason without contents
   * @returns undefined if the entry is gone
   */
  quarantine(entry: DueEntry, why: string): Promise<QuarantineEntry | undefined>;
  /**
   * Sets aside a record that workers can create again: a summary, or the open pass, which ends as failed. `needsWake`:
   * the caller adds the wake.
   * @returns undefined if the key does not exist or holds another kind of record
   */
  quarantineRecord(
    conversation: ConversationRef,
    request: UnreadableRecord,
  ): Promise<{ readonly setAside: QuarantineEntry; readonly needsWake: boolean } | undefined>;
  inspectTurn(conversation: ConversationRef): Promise<SweepDecision>;
  inspectPass(conversation: ConversationRef): Promise<SweepDecision>;
  /** Records the wake that the sweeper is about to add. False if a worker took a lease meanwhile. */
  recordWake(entry: DueEntry, wake: string): Promise<boolean>;
  /** Moves a scheduled turn that is due to the end of its mailbox. `needsWake`: the caller adds the wake. */
  promoteScheduled(conversation: ConversationRef, turn: string, wake: string): Promise<{ readonly needsWake: boolean }>;
  /**
   * Erases the conversation if it has reached the idle TTL of its policy, in a few batches.
   * @param owner fresh id for each call
   */
  expire(conversation: ConversationRef, owner: string): Promise<ExpireResult>;
  /**
   * Measures the backlog of all shards that answer.
   * @throws redis_unavailable if none answers
   */
  measureShards(): Promise<ShardMeasure>;
}

/** Pause between two sweeps of one shard, in ms. */
export const SWEEP_CLAIM_MS = 1_000;
