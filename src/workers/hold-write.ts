import { findWriteRefusal } from '../domain/errors.ts';
import type { EventListener, EventScope, HeldWrite } from '../domain/events.ts';
import type { Clock } from '../domain/ports/clock.ts';
import type { Timers } from './timers.ts';

/** ms between two tries of a write that Redis refuses. */
const TRY_AGAIN_MS = 250;

export interface HoldPorts {
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

export interface Held {
  readonly write: HeldWrite;
  /** whose write it is */
  readonly scope: EventScope;
  /** ends the hold */
  readonly signal: AbortSignal;
}

/**
 * Sends a write, and repeats it while Redis takes no writes, until the signal aborts. What a model or a tool has answered is paid
 * for, and may have taken effect: a refused record must not lose it (I11).
 * @param send the same operation each time, under the same ids
 * @throws what the store throws otherwise; the signal's reason
 */
export async function holdWrite<T>(ports: HoldPorts, held: Held, send: () => Promise<T>): Promise<T> {
  const { clock, onEvent } = ports;
  const { write, scope, signal } = held;
  let heldSince: number | undefined;
  for (;;) {
    try {
      const answer = await send();
      if (heldSince !== undefined) {
        onEvent({ type: 'write_taken', ...scope, write, heldMs: clock.now() - heldSince });
      }
      return answer;
    } catch (error) {
      const code = findWriteRefusal(error);
      if (code === undefined || signal.aborted) throw error;
      if (heldSince === undefined) onEvent({ type: 'write_held', ...scope, write, code });
      heldSince ??= clock.now();
      await pause(ports, signal);
    }
  }
}

async function pause({ timers }: HoldPorts, signal: AbortSignal): Promise<void> {
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
