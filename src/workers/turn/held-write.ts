import type { EventListener, HeldWrite } from '../../domain/events.ts';
import type { Clock } from '../../domain/ports/clock.ts';
import { findWriteRefusal } from '../../domain/redis-errors.ts';
import type { Timers } from '../timers.ts';
import type { LeaseKeeper } from './lease-keeper.ts';

/** ms between two tries of a write that Redis refuses. */
const TRY_AGAIN_MS = 250;

export interface HoldPorts {
  readonly keeper: LeaseKeeper;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

/**
 * Sends a write of a claimed turn, and repeats it while Redis takes no writes, until the lease is lost (I11). What a model or a
 * tool has answered is paid for, and may have taken effect: the turn holds it, and its other calls go on.
 * @param send the same operation each time, under the same ids
 * @throws what the store throws otherwise; the reason that ended the work
 */
export async function holdWrite<T>(ports: HoldPorts, write: HeldWrite, send: () => Promise<T>): Promise<T> {
  const { keeper, clock, onEvent } = ports;
  const { conversation, turn } = keeper.lease;
  let heldSince: number | undefined;
  for (;;) {
    try {
      const answer = await send();
      if (heldSince !== undefined) {
        onEvent({ type: 'write_taken', conversation, turn, write, heldMs: clock.now() - heldSince });
      }
      return answer;
    } catch (error) {
      const code = findWriteRefusal(error);
      if (code === undefined || keeper.signal.aborted) throw error;
      if (heldSince === undefined) onEvent({ type: 'write_held', conversation, turn, write, code });
      heldSince ??= clock.now();
      await pause(ports);
    }
  }
}

async function pause({ timers, keeper: { signal } }: HoldPorts): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = timers.after(TRY_AGAIN_MS, resolve);
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await promise;
  } finally {
    timer.stop();
    signal.removeEventListener('abort', stop);
  }
}
