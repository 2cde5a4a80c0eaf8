import { z } from 'zod';

/**
 * Replication and persistence that a write must reach before the caller gets a success. If unset, the answer of the
 * Redis master is enough, and a failover may lose writes that were not replicated yet.
 */
export const durabilitySchema = z
  .strictObject({
    /** Replicas that must have received the write. */
    replicas: z.number().int().min(0).max(100),
    /** Milliseconds to wait, including the wait of a preceding write. Not 0, because Redis takes 0 as "no limit". */
    timeoutMs: z.number().int().min(1).max(600_000),
    /**
     * Disks that must hold the write: the master's (`local`), or also the replicas' (`replica`). Needs Redis 7.2 or
     * later.
     */
    fsync: z.enum(['local', 'replica']).exactOptional(),
  })
  .refine(({ replicas, fsync }) => replicas > 0 || fsync === 'local', {
    path: ['replicas'],
    error: 'must be 1 or more. 0 is allowed only with fsync: local',
  });

export type Durability = Readonly<z.output<typeof durabilitySchema>>;

/** `shortfall`: the write was made, but a failover may still lose it. */
export type Acknowledged<Answer> = Answer & { readonly shortfall?: Shortfall };

export interface Shortfall {
  readonly wanted: Barriers;
  /** Absent if Redis did not answer. */
  readonly reached?: Barriers;
}

/** Replicas and disks that have the write. `fsynced` counts the master's disk as one. */
export interface Barriers {
  readonly replicas: number;
  readonly fsynced?: number;
}
