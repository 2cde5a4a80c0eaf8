import type { Clock } from '../domain/clock.ts';
import { findWriteRefusal } from '../domain/errors.ts';
import type { DeferredWrite, EventListener, EventScope } from '../domain/events.ts';
import type { WakeQueue } from '../jobs/ports.ts';
import { unlessAborted } from './shutdown.ts';
import type { Timers } from './timers.ts';

const TRY_AGAIN_MS = 250;

export interface DeferredWritePorts {
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

interface DeferredWriteOptions {
  readonly write: DeferredWrite;
  readonly scope: EventScope;
  readonly signal: AbortSignal;
}

/**
 * Repeats a write while Redis refuses writes, until the signal aborts. The answer of a model or tool is paid for and
 * may have had effects, so it must not be lost (I11).
 * @param send sends the same operation under the same ids each time
 * @throws the signal's reason after an abort, and every error of Redis except a refused write
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
        onEvent({ type: 'deferred_write_succeeded', ...scope, write, deferredMs: clock.now() - refusedAt });
      }
      return answer;
    } catch (error) {
      const code = findWriteRefusal(error);
      if (code === undefined || signal.aborted) throw error;
      if (refusedAt === undefined) onEvent({ type: 'write_deferred', ...scope, write, code });
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

/** Adds a wake that the store has recorded. If Redis is full, the sweeper adds the wake later. */
export async function wakeUnlessFull(
  wakes: Pick<WakeQueue, 'wake'>,
  ...[kind, conversation, wake, options = {}]: Parameters<WakeQueue['wake']>
): Promise<void> {
  try {
    await wakes.wake(kind, conversation, wake, options);
  } catch (error) {
    if (findWriteRefusal(error) === undefined) throw error;
  }
}
