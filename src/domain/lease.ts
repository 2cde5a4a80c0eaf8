import type { ConversationRef } from './ids.ts';

/**
 * A worker that has not renewed its key for this long counts as lost: it crashed, hangs or has no connection to Redis.
 */
export const LOST_AFTER_MS = 20_000;

/** Proof that a worker owns a turn. Every write of the turn must carry it (invariant I4). */
export interface TurnLease {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly owner: string;
  /** Number that increases with each owner. A write with an outdated number is not made and gets the answer `fenced`. */
  readonly epoch: number;
}

/**
 * How a worker loses its turn: to another worker (`fenced`), an erase (`gone`), a cancel, or a loss of data (`unclaimed`).
 */
export const LOSSES = ['fenced', 'gone', 'canceled', 'unclaimed'] as const;
/** Answer to a worker that has lost its turn. The worker must not write any more. */
export type Lost = { readonly status: (typeof LOSSES)[number] };

export function isLost(result: { readonly status: string }): result is Lost {
  return LOSSES.some((status) => status === result.status);
}
