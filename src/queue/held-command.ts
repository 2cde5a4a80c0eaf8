import { setTimeout as sleep } from 'node:timers/promises';
import { findWriteRefusal } from '../domain/errors.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import { nameRedisError } from '../redis/errors.ts';
import type { Report } from './delivery.ts';

/** ms between two tries of a command that Redis refuses. */
const TRY_AGAIN_MS = 250;

/**
 * Sends a command of a parked pass, and repeats it while Redis takes no writes, for as long as the pass is parked. Given up at
 * once, the pass would wait for children that nobody has added.
 * @param report called once, at the first refusal
 * @param send adds nothing twice
 */
export async function holdCommand<T>(report: Report, send: () => Promise<T>): Promise<T> {
  const until = performance.now() + PASS_LIMITS.parkMs;
  let isHeld = false;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      const named = nameRedisError(error);
      if (findWriteRefusal(named) === undefined || performance.now() > until) throw error;
      if (!isHeld) report(named);
      isHeld = true;
      await sleep(TRY_AGAIN_MS, undefined, { ref: false });
    }
  }
}
