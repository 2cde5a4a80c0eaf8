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

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

export function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => Number((sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(2));
  return { p50: at(0.5), p99: at(0.99) };
}

export function timeMs(work: () => unknown): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
}
