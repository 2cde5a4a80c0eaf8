import { z } from 'zod';

/**
 * What must hold before a caller is told that something is done. Without it the master's word is enough, and what it had not
 * handed on is lost with it.
 */
export const durabilitySchema = z
  .strictObject({
    /** how many replicas hold the write */
    replicas: z.number().int().min(0).max(100),
    /** how long a wait may take, in ms, and that of the one before it; 0 would wait for ever */
    timeoutMs: z.number().int().min(1).max(600_000),
    /** on disk as well: at the master (`local`), or there and at the replicas (`replica`). Redis 7.2 and later */
    fsync: z.enum(['local', 'replica']).exactOptional(),
  })
  .refine(({ replicas, fsync }) => replicas > 0 || fsync === 'local', {
    path: ['replicas'],
    error: 'must be 1 or more, unless the master’s disk alone is asked for (fsync: local)',
  });

export type Durability = Readonly<z.output<typeof durabilitySchema>>;

/** A store's answer to a service; with `shortfall` where it tells of something as done that may still be lost. */
export type Told<Answer> = Answer & { readonly shortfall?: Shortfall };

/** The write is made, and the barrier behind it was not reached. */
export interface Shortfall {
  readonly wanted: Barriers;
  /** absent where no answer came */
  readonly reached?: Barriers;
}

/** How many hold a write; `fsynced` counts the master's disk as one. */
export interface Barriers {
  readonly replicas: number;
  readonly fsynced?: number;
}
