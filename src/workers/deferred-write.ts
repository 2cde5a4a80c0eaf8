import { findWriteRefusal } from '../domain/errors.ts';
import type { DeferredWrite, EventListener, EventScope } from '../domain/events.ts';
import type { Clock } from '../domain/ports/clock.ts';
import { unlessAborted } from './shutdown.ts';
import type { Timers } from './timers.ts';

/** ms between two attempts of a write that Redis refuses. */
const TRY_AGAIN_MS = 250;

export interface DeferredWritePorts {
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

export interface DeferredWriteOptions {
  readonly write: DeferredWrite;
  readonly scope: EventScope;
  /** Ends the retries when it aborts. */
  readonly signal: AbortSignal;
}

/**
 * Sends a write to Redis, and repeats the write while Redis refuses writes, until the signal aborts. The answer of a
 * model or a tool is already paid for and may have had effects, so turnfold must not lose it (invariant I11).
 * @param send sends the same operation under the same ids each time
 * @throws every error of the store that is not such a refusal, and the signal's reason
 */
export async function deferWrite<T>(
  ports: DeferredWritePorts,
  { write, scope, signal }: DeferredWriteOptions,
  send: () => Promise<T>,
): Promise<T> {
  const { clock, onEvent } = ports;
  let refusedAt: number | undefined;
  for (;;) {
    try {
      const answer = await send();
      if (refusedAt !== undefined) {
        onEvent({ type: 'write_taken', ...scope, write, heldMs: clock.now() - refusedAt });
      }
      return answer;
    } catch (error) {
      const code = findWriteRefusal(error);
      if (code === undefined || signal.aborted) throw error;
      if (refusedAt === undefined) onEvent({ type: 'write_held', ...scope, write, code });
      refusedAt ??= clock.now();
      await pause(ports, signal);
    }
  }
}

async function pause({ timers }: DeferredWritePorts, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = timers.after(TRY_AGAIN_MS, resolve);
  try {
    await unlessAborted(signal, () => promise);
  } finally {
    timer.stop();
  }
}
