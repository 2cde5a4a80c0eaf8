/** What `spin` takes on the machine that the figures of our tests were measured on, in ms. */
const REFERENCE_SPIN_MS = 20;
const SPINS = 8_000_000;

/**
 * How much slower this machine is now than the reference machine, other processes included: at least 1. A test that limits an
 * elapsed time multiplies its limit by this factor, measured when the time is.
 */
export function machineFactor(): number {
  const startMs = performance.now();
  const isSpun = spin() !== 0;
  // The result is looked at, so that the loop is not optimized away.
  return isSpun ? Math.max(1, (performance.now() - startMs) / REFERENCE_SPIN_MS) : 1;
}

/** The CPU time of this thread that a work takes, in ms. Other processes on the machine do not add to it. */
export async function measureCpuMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

function spin(): number {
  let hash = 0;
  for (let index = 0; index < SPINS; index += 1) hash = Math.imul(hash ^ index, 0x01000193);
  return hash;
}
