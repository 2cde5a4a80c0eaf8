import { z } from 'zod';

/**
 * Replication and persistence that a write must reach before the caller gets a success. If unset, the answer of the
 * Redis master is enough, and a failover may lose writes that were not replicated yet.
 */
export const durabilitySchema = z
  .strictObject({
    /** Number of replicas that must have received the write. */
    replicas: z.number().int().min(0).max(100),
    /**
     * Milliseconds that a caller waits for replicas and disks, including the wait of a preceding write. 0 is not
     * allowed, because Redis takes it as "no limit".
     */
    timeoutMs: z.number().int().min(1).max(600_000),
    /**
     * Disks that must have the write: the master's (`local`), or the master's and the replicas' (`replica`). Needs
     * Redis 7.2 or later.
     */
    fsync: z.enum(['local', 'replica']).exactOptional(),
  })
  .refine(({ replicas, fsync }) => replicas > 0 || fsync === 'local', {
    path: ['replicas'],
    error: 'must be 1 or more. 0 is allowed only with fsync: local',
  });

export type Durability = Readonly<z.output<typeof durabilitySchema>>;

/** Answer of a store to a client call. `shortfall` is set if the write was made but a failover may still lose it. */
export type Acknowledged<Answer> = Answer & { readonly shortfall?: Shortfall };

/** A write that was made, but did not reach the required replicas and disks in time. */
export interface Shortfall {
  readonly wanted: Barriers;
  /** Replicas and disks that have the write. Absent if Redis did not answer. */
  readonly reached?: Barriers;
}

/** Number of servers that have a write. `fsynced` counts the master's disk as one. */
export interface Barriers {
  readonly replicas: number;
  readonly fsynced?: number;
}
