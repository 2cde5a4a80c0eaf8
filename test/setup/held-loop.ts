/**
 * CPU time in ms at which a test fails, on the reference machine: twice the limit of 50 ms that `bench/loop.ts` measures.
 * A busy machine takes more CPU time for the same work, because caches are shared and the clock is slower.
 */
export const MAX_HELD_MS = 100;

/** CPU time in ms that `spin` takes on the reference machine. */
const REFERENCE_SPIN_MS = 20;
const SPINS = 20_000_000;
const ATTEMPTS = 8;

/**
 * Decides whether the best of some attempts blocks the event loop for less than the limit. Other load and the garbage
 * of earlier tests can only make an attempt longer.
 */
export async function holdsShortly(
  work: () => unknown,
): Promise<{ readonly isShort: boolean; readonly heldMs: number }> {
  let heldMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    heldMs = Math.min(heldMs, await measureHeldMs(work));
    if (heldMs < maxHeldMs()) return { isShort: true, heldMs };
  }
  return { isShort: false, heldMs };
}

/**
 * Measures the longest slice of work between two turns of the event loop, in ms of this thread's CPU time. Other
 * processes take wall-clock time, but none of this CPU time.
 */
export async function measureHeldMs(work: () => unknown): Promise<number> {
  let heldMs = 0;
  let isDone = false;
  let last = process.threadCpuUsage();
  const look = (): void => {
    const now = process.threadCpuUsage();
    heldMs = Math.max(heldMs, (now.user - last.user + now.system - last.system) / 1_000);
    last = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isDone = true;
  // The last slice ends with the turn of the loop in which the work ended.
  await new Promise((resolve) => setImmediate(resolve));
  look();
  return heldMs;
}

/** The limit for this machine: more than `MAX_HELD_MS` if its CPU is slower or shared. */
export function maxHeldMs(): number {
  const spins = Array.from({ length: 3 }, measureSpinMs);
  return MAX_HELD_MS * Math.max(1, Math.max(...spins) / REFERENCE_SPIN_MS);
}

function measureSpinMs(): number {
  const before = process.threadCpuUsage();
  let hash = 0;
  for (let index = 0; index < SPINS; index += 1) hash = Math.imul(hash ^ index, 0x01000193);
  const after = process.threadCpuUsage(before);
  // The sum is used, so that the loop is not optimized away.
  return hash === 0 ? Number.POSITIVE_INFINITY : (after.user + after.system) / 1_000;
}
