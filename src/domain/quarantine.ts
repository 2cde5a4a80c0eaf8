/** Redis sets from which unreadable records are moved aside. `key` stands for a whole key with the wrong data type. */
export const QUARANTINE_SETS = ['ready', 'idle', 'passes', 'failed', 'key'] as const;
export type QuarantineSet = (typeof QUARANTINE_SETS)[number];

/** A record that was moved aside, so that the sweeper can process the rest of its shard (invariant I12). */
export interface QuarantineEntry {
  readonly shard: number;
  /** Redis set that contained the record. */
  readonly set: QuarantineSet;
  /** Member of the set, or name of the key. */
  readonly name: string;
  /** Without contents. */
  readonly why: string;
}
