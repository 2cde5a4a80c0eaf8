/** Milliseconds that `spin` takes on the reference machine, which measured the figures of our tests. */
const REFERENCE_SPIN_MS = 20;
const SPINS = 8_000_000;

/**
 * Returns how much slower this machine is now than the reference machine, other processes included. The factor is at
 * least 1. A test with a limit of elapsed time multiplies the limit by this factor, measured at the same time.
 */
export function machineFactor(): number {
  const startMs = performance.now();
  const isSpun = spin() !== 0;
  // The result is used, so that the loop is not optimized away.
  return isSpun ? Math.max(1, (performance.now() - startMs) / REFERENCE_SPIN_MS) : 1;
}

function spin(): number {
  let hash = 0;
  for (let index = 0; index < SPINS; index += 1) hash = Math.imul(hash ^ index, 0x01000193);
  return hash;
}
