import { z } from 'zod';

/**
 * Replicas and disks that must have a write before the caller gets a success. If unset, the answer of the Redis
 * master is enough, and a failover may lose writes.
 */
export const durabilitySchema = z
  .strictObject({
    /** Replicas that must have received the write. */
    replicas: z.number().int().min(0).max(100),
    /** Milliseconds to wait, including the wait of a preceding write. Not 0, because Redis takes 0 as "no limit". */
    timeoutMs: z.number().int().min(1).max(600_000),
    /** Disks that must hold the write: the master's, or also those of replicas. Needs Redis 7.2. */
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
  readonly reached?: Barriers;
}

/** Replicas and disks that have the write. The master's disk counts as one. */
export interface Barriers {
  readonly replicas: number;
  readonly fsynced?: number;
}
