import type { Forking } from '../../domain/ports/version-store.ts';

/** How long a fork is held by its begin and by each of its batches. A client gives a batch up after less than a second. */
export const FORK_LEASE_MS = 60_000;

/** As `lua/shared/forking.lua` replies. */
export type ForkingReply = ['forking', number];

export function decodeForking([status, isAbandoned]: ForkingReply): Forking {
  return { status, isAbandoned: isAbandoned === 1 };
}
