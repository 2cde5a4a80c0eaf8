export interface Scale {
  readonly ticks: readonly number[];
  readonly max: number;
  readonly place: (value: number) => number;
}

/** Steps that are easy to read, times a power of ten. */
const STEPS = [1, 2, 5, 10];

/** @param length pixels of the axis. @param tickCount about as many as the axis has space for */
export function createScale(max: number, length: number, tickCount: number): Scale {
  const end = Math.max(1, max);
  const rough = end / tickCount;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, power * (STEPS.find((one) => one * power >= rough) ?? 10));
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => index * step);
  return { ticks, max: end, place: (value) => (Math.min(value, end) / end) * length };
}

/** Writes a number in full: `12,000`. */
export function formatCount(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

/** Writes a number in short: `12k`, `1.5M`. */
export function formatShort(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 }).replace('K', 'k');
}

export function formatPixels(value: number): string {
  return String(Math.round(value * 10) / 10);
}
