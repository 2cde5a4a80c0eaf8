import { expect } from 'vitest';
import { maxHeldMs, measureHeldMs } from './held-loop.ts';

/** Memory that V8 may hold as garbage, whatever the work needs. */
const GARBAGE_BYTES = 48_000_000;
const MEMORY_FACTOR = 20;
const ATTEMPTS = 4;
/** The limit for this machine, measured once, because measuring it takes longer than most work. */
const LIMIT_MS = maxHeldMs();

/**
 * Checks from inside that work on hostile bytes holds the event loop shortly, and takes at most 20 times their memory. The
 * best of several attempts counts.
 */
export async function expectFrugal(name: string, bytes: number, work: () => Promise<unknown>): Promise<void> {
  let heldMs = Number.POSITIVE_INFINITY;
  // Garbage of earlier work comes once. The memory of this work comes with each attempt.
  let leastPeak = Number.POSITIVE_INFINITY;
  const maxBytes = MEMORY_FACTOR * bytes + GARBAGE_BYTES;
  for (let attempt = 0; attempt < ATTEMPTS && (heldMs >= LIMIT_MS || leastPeak >= maxBytes); attempt += 1) {
    const before = countBytes();
    let peak = 0;
    let isDone = false;
    const look = (): void => {
      peak = Math.max(peak, countBytes() - before);
      if (!isDone) setImmediate(look);
    };
    look();
    heldMs = Math.min(heldMs, await measureHeldMs(work));
    isDone = true;
    leastPeak = Math.min(leastPeak, peak);
  }
  expect(leastPeak, `memory of ${name}`).toBeLessThan(maxBytes);
  expect(heldMs, `the event loop was held by ${name}`).toBeLessThan(LIMIT_MS);
}

function countBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
