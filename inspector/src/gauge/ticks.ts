import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';

type Threshold = BreakdownAnswer['thresholds'][number];

export interface Tick extends Threshold {
  readonly row: number;
  readonly isAtEnd: boolean;
}

const LABEL_SHARE = 0.1;

/** Gives each label a row, so that labels of near thresholds do not cover each other. */
export function placeTicks(thresholds: readonly Threshold[], span: number): Tick[] {
  // Labels are placed from right to left. A label in a lower row then passes below the ticks at its right, and no tick
  // crosses the label.
  const sorted = thresholds.toSorted((one, other) => other.tokens - one.tokens);
  const starts: number[] = [];
  return sorted
    .filter(({ tokens }) => tokens <= span)
    .map((threshold) => {
      const at = threshold.tokens / span;
      const isAtEnd = at > 1 - LABEL_SHARE;
      const [start, end] = isAtEnd ? [at - LABEL_SHARE, at] : [at, at + LABEL_SHARE];
      const free = starts.findIndex((taken) => taken >= end);
      const row = free === -1 ? starts.length : free;
      starts[row] = start;
      return { ...threshold, row, isAtEnd };
    });
}
