import { z } from 'zod';

/**
 * Replication and persistence that a write must reach before the caller gets a success. Without it, the master's answer
 * is enough. A failover then loses writes that the master had not replicated.
 */
export const durabilitySchema = z
  .strictObject({
    /** Replicas that must have the write. */
    replicas: z.number().int().min(0).max(100),
    /**
     * Milliseconds that a wait may take, including its predecessor's. Redis takes 0 for "no limit", so 0 is not
     * allowed.
     */
    timeoutMs: z.number().int().min(1).max(600_000),
    /**
     * Disks that must have the write: the master's (`local`), or the master's and the replicas' (`replica`). Redis 7.2
     * and later.
     */
    fsync: z.enum(['local', 'replica']).exactOptional(),
  })
  .refine(({ replicas, fsync }) => replicas > 0 || fsync === 'local', {
    path: ['replicas'],
    error: 'must be 1 or more, unless the master’s disk alone is asked for (fsync: local)',
  });

export type Durability = Readonly<z.output<typeof durabilitySchema>>;

/** Answer of a store to a service. `shortfall` is set if the write succeeded but may still be lost. */
export type Acknowledged<Answer> = Answer & { readonly shortfall?: Shortfall };

/** A write that was made, but did not reach its durability in time. */
export interface Shortfall {
  readonly wanted: Barriers;
  /** Absent if Redis gave no answer. */
  readonly reached?: Barriers;
}

/** Servers that have a write. `fsynced` counts the master's disk as one. */
export interface Barriers {
  readonly replicas: number;
  readonly fsynced?: number;
}
