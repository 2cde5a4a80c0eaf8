/** Smallest, median and largest result of several runs. A single result means little on a busy machine. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => Number((sorted[Math.round((sorted.length - 1) * share)] ?? 0).toFixed(2));
  return { min: at(0), median: at(0.5), max: at(1) };
}

/** Formats as `median (min–max)`. */
export function describeSpread({ min, median, max }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

export function timeMs(work: () => unknown): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
}
