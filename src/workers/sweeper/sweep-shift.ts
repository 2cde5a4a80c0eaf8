import type { IdSource } from '../../domain/ports/clock.ts';
import type { SweepStore } from '../../domain/ports/sweep-store.ts';
import type { Timers } from '../timers.ts';

export interface SweepShiftPorts {
  readonly sweep: Pick<SweepStore, 'holdSweeping'>;
  readonly ids: IdSource;
  readonly timers: Timers;
}

/** Pause between two renewals of the lease, in ms. */
const BEAT_MS = 500;
/** Every second beat, about once a second, the lease owner sweeps and the other processes ask for the lease. */
const BEATS = 2;
/** Duration of the lease in ms. Another process asks within a further second, so a takeover takes at most 2 s. */
const LEASE_MS = 1_000;

/**
 * Calls `sweep` about once a second, in the one process that has the lease to sweep. `sweep` gets the time by which entries
 * are due, and must not throw.
 */
export function beginSweepShift(
  ports: SweepShiftPorts,
  sweep: (now: number) => Promise<void>,
): { stop(): Promise<void> } {
  const owner = ports.ids.next();
  let beats = 0;
  let isHolder = false;
  let isStopped = false;
  let beating = Promise.resolve();
  const beat = async (): Promise<void> => {
    beats += 1;
    const isSecond = beats % BEATS === 0;
    if (!isHolder && !isSecond) return;
    const now = await ports.sweep.holdSweeping(owner, LEASE_MS);
    isHolder = now !== undefined;
    if (now !== undefined && isSecond && !isStopped) await sweep(now);
  };
  const heartbeat = ports.timers.every(BEAT_MS, async () => {
    beating = beat();
    await beating;
  });
  return {
    async stop() {
      isStopped = true;
      heartbeat.stop();
      await beating.catch(() => undefined);
      await ports.sweep.holdSweeping(owner, 0).catch(() => undefined);
    },
  };
}
