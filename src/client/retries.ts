import { setTimeout as delay } from 'node:timers/promises';
import { isTurnfoldError } from '../domain/errors.ts';
import { isRefusal } from '../redis/errors.ts';

/** A lost connection is back within 50 ms where Redis is. */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 250;
/** The time that one command may take before it fails. */
const COMMAND_MS = 900;

/**
 * Calls again while Redis is away, until it answers or has been away for `deadlineMs`. Only for calls that may run twice: each
 * write of the store is idempotent by the ids in its input. An attempt that is under way at the deadline may end 0.9 s later.
 * @throws redis_unavailable after the deadline; at once any other error, and what waiting does not help
 */
export async function callUntil<T>(deadlineMs: number, call: () => Promise<T>): Promise<T> {
  let until: number | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const startedAt = performance.now();
    try {
      return await call();
    } catch (error) {
      if (!isTurnfoldError(error, 'redis_unavailable') || isRefusal(error)) throw error;
      const failedAt = performance.now();
      // A call of many batches may have worked for long before Redis went away.
      until ??= Math.max(startedAt, failedAt - COMMAND_MS) + deadlineMs;
      // Spread, for all calls of a service saw the same outage begin.
      const waitMs = pauseMs * (0.5 + Math.random() / 2);
      if (failedAt + waitMs >= until) throw error;
      await delay(waitMs);
    }
  }
}

/** A store whose operations are each called again while Redis is away. */
export function retryStore<Store extends object>(store: Store, deadlineMs: number): Store {
  const members = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (!isOperation(member)) return [name, member];
    return [name, (...input: unknown[]) => callUntil(deadlineMs, () => member(...input))];
  });
  return Object.fromEntries(members) as Store; // the same names with the same types
}

function isOperation(member: unknown): member is (...input: unknown[]) => Promise<unknown> {
  return typeof member === 'function';
}
