import type { ConversationRef } from '../ids.ts';

/** Somebody must look again: a turn, a pass or a scheduled turn that is due; a conversation that may have been idle enough. */
export interface DueEntry {
  readonly kind: 'turn' | 'pass' | 'scheduled' | 'idle';
  readonly conversation: ConversationRef;
  /** of a scheduled turn: its id */
  readonly turn?: string;
}

/** The sets of a shard whose members are looked at; `key`: a whole key of another type. */
export const QUARANTINE_SETS = ['ready', 'idle', 'passes', 'failed', 'key'] as const;
export type QuarantineSet = (typeof QUARANTINE_SETS)[number];

/** A record that was set aside, so that the others of its shard go on. */
export interface SetAside {
  /** the shard that it lies in */
  readonly shard: number;
  /** the set that named it */
  readonly set: QuarantineSet;
  /** the member of the set, or the name of the key */
  readonly name: string;
  /** what is wrong with it, without contents */
  readonly why: string;
}

/** A record of a conversation that cannot be read. */
export interface AsideRequest {
  /** the full name of its key */
  readonly key: string;
  /** what is wrong with it, without contents */
  readonly why: string;
  /** id of the wake to be recorded if a turn waits for this record */
  readonly wakeTurn: string;
}

/** One look at many shards. */
export interface Sweep {
  readonly setAside: readonly SetAside[];
  /** of the shards that have answered, be it since the last look */
  readonly due: readonly DueEntry[];
  /** why a shard could not be looked at; of several one */
  readonly failure?: Error;
}

export type SweepDecision =
  /** no valid lease and the recorded wake, where there is one, may be gone: look at the queue */
  | { readonly status: 'lapsed'; readonly recordedWake?: string }
  /** a valid lease, a wait, or nothing left: leave alone */
  | { readonly status: 'quiet' };

/** How much waits, and how long has the oldest. Ages in ms, 0 where there is nothing. */
export interface ShardMeasure {
  /** entries past their time now: somebody should have looked */
  readonly overdue: Readonly<Record<DueEntry['kind'], number>>;
  /** of turns, passes and scheduled turns: an erase may wait behind them */
  readonly oldestOverdueMs: number;
  /** passes requested or in progress; not those that wait for somebody's decision */
  readonly openPasses: number;
  /** since its request */
  readonly oldestOpenPassMs: number;
  /** that are kept, brought again or not */
  readonly failedTurns: number;
  /** past the time at which it was to be looked at */
  readonly oldestIdleMs: number;
  /** records that are set aside until somebody repairs or drops them */
  readonly quarantined: number;
}

export type ExpireResult =
  /** something has happened, or is under way; or there is nothing to erase */
  | { readonly status: 'kept' }
  /** it was begun or gone on with; the next sweep goes on */
  | { readonly status: 'more' }
  /** nothing is left. Answered to one call for each expiry, and to that also where it is sent again; the keys are those of all calls */
  | { readonly status: 'expired'; readonly removedKeys: number }
  /** nothing is left of what an erase that somebody asked for, and that was cut off, had to remove */
  | { readonly status: 'resumed' };

/** What the sweeper needs. */
export interface SweepStore {
  readonly shards: number;
  /**
   * Claims the shards whose last sweep is a second or more ago and answers their due entries, each pushed out
   * (1 s, doubling to 60 s), at most `limit` a shard. It ends within a second or so: a shard that is silent, as where its
   * master is gone, keeps no other from being looked at.
   */
  sweepShards(shards: readonly number[], limit: number): Promise<Sweep>;
  /**
   * sets an entry aside whose records cannot be worked on; undefined where the entry is gone
   * @param why without contents
   */
  quarantine(entry: DueEntry, why: string): Promise<SetAside | undefined>;
  /**
   * Sets a record aside that workers can create again: the open pass, which ends as failed, or a summary.
   * @returns undefined if the key holds another kind of record, or nothing; `needsWake`: add the wake
   */
  setRecordAside(
    conversation: ConversationRef,
    request: AsideRequest,
  ): Promise<{ readonly setAside: SetAside; readonly needsWake: boolean } | undefined>;
  inspectTurn(conversation: ConversationRef): Promise<SweepDecision>;
  inspectPass(conversation: ConversationRef): Promise<SweepDecision>;
  /** records the wake that the sweeper is about to add, unless a lease was taken meanwhile */
  recordWake(entry: DueEntry, wake: string): Promise<boolean>;
  /** moves a scheduled turn that is due to the tail of its mailbox; `needsWake`: add the wake */
  promoteScheduled(conversation: ConversationRef, turn: string, wake: string): Promise<{ readonly needsWake: boolean }>;
  /**
   * erases the conversation where it has been idle for its policy's `conversationTtl`, as it is now: a few batches
   * @param owner a fresh id for each call
   */
  expire(conversation: ConversationRef, owner: string): Promise<ExpireResult>;
  /** for gauges; over all shards that answer. @throws redis_unavailable where none does */
  measureShards(): Promise<ShardMeasure>;
}

/** Pause between two sweeps of one shard, in ms. */
export const SWEEP_CLAIM_MS = 1_000;
