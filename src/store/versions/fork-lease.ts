import type { Forking } from '../../domain/ports/version-store.ts';

/** As `lua/shared/forking.lua` replies. */
export type ForkingReply = ['forking', number];

export function decodeForking([status, isAbandoned]: ForkingReply): Forking {
  return { status, isAbandoned: isAbandoned === 1 };
}
