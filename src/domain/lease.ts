import type { ConversationRef } from './ids.ts';

/** A worker that has not renewed its key for this long crashed, hangs or has no connection to Redis. */
export const LOST_AFTER_MS = 20_000;

/** Right of one worker to write for a turn. Every write of the turn must carry its lease (invariant I4). */
export interface TurnLease {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly owner: string;
  /** Increases with each owner. A write with an outdated epoch is not made and gets the answer `fenced`. */
  readonly epoch: number;
}

/** Answers after which the worker must not write. `gone`: the turn was erased. `unclaimed`: Redis lost data. */
const LOSSES = ['fenced', 'gone', 'canceled', 'unclaimed'] as const;
export type Lost = { readonly status: (typeof LOSSES)[number] };

export function isLost(result: { readonly status: string }): result is Lost {
  return (LOSSES as readonly string[]).includes(result.status);
}
