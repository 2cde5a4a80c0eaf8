import type { IdSource } from '../../domain/clock.ts';
import type { SweepStore } from '../../store/sweep.ts';
import type { Timers } from '../timers.ts';

export interface SweepShiftPorts {
  readonly sweep: Pick<SweepStore, 'holdSweeping'>;
  readonly ids: IdSource;
  readonly timers: Timers;
}

export type Chore = () => Promise<void>;

export interface SweepShiftWork {
  /** Sweeps what is due at the time `now`. Must not throw. */
  readonly sweep: (now: number) => Promise<void>;
  /** Further work of the process with the lease, at each beat unless it still runs. Must not throw. */
  readonly chores: readonly Chore[];
  /** Reports that the lease could not be read. The process still sweeps. */
  readonly onFailure: (error: unknown) => void;
}

/** ms between two renewals of the lease, and between two attempts of another process to take the lease. */
const BEAT_MS = 500;
/** Number of beats between two sweeps. */
const BEATS = 2;
/** Duration of the lease in ms. Another process tries to take the lease within one further beat, so after at most 1.3 s. */
const LEASE_MS = 800;
/** Maximum beats of one sweep. A process whose sweep takes longer gives up the lease, because the sweep may never end. */
const MOST_BEATS = 20;

/**
 * Sweeps about once a second in the one process that has the lease. The lease is renewed during a sweep. If the lease
 * cannot be read, every process sweeps, because the claims of the shards keep sweeps a second apart.
 */
export function beginSweepShift(
  ports: SweepShiftPorts,
  { sweep, chores, onFailure }: SweepShiftWork,
): { stop(): Promise<void> } {
  const owner = ports.ids.next();
  let beats = 0;
  let isHolder = false;
  let isUnread = false;
  let isStopped = false;
  let sweeping: { readonly done: Promise<void>; readonly since: number } | undefined;
  const running = new Map<Chore, Promise<void>>();
  const beginSweep = (now: number): void => {
    const done = sweep(now).finally(() => {
      sweeping = undefined;
    });
    sweeping = { done, since: beats };
  };
  const beginChore = (chore: Chore): void => {
    if (!running.has(chore))
      running.set(
        chore,
        chore().finally(() => running.delete(chore)),
      );
  };
  const beat = async (): Promise<void> => {
    beats += 1;
    const isStuck = sweeping !== undefined && beats - sweeping.since > MOST_BEATS;
    // If the lease cannot be read, the wait for its reply takes about as long as a beat. So each beat may sweep then.
    const isTime = isUnread || beats % BEATS === 0;
    if (isStuck) return;
    const now = await ports.sweep.holdSweeping(owner, LEASE_MS).catch((error: unknown) => {
      onFailure(error);
      return Number.POSITIVE_INFINITY;
    });
    isUnread = now === Number.POSITIVE_INFINITY;
    isHolder = now !== undefined && !isUnread;
    if (isStopped) return;
    if (isHolder) for (const chore of chores) beginChore(chore);
    if (now !== undefined && isTime && sweeping === undefined) beginSweep(now);
  };
  let beating = Promise.resolve();
  const heartbeat = ports.timers.every(BEAT_MS, async () => {
    beating = beat();
    await beating;
  });
  return {
    async stop() {
      isStopped = true;
      heartbeat.stop();
      await beating;
      await Promise.all([sweeping?.done, ...running.values()]);
      await ports.sweep.holdSweeping(owner, 0).catch(() => undefined);
    },
  };
}
