import type { BreakdownAnswer } from '../../../src/http/answers/inspection.ts';

type Threshold = BreakdownAnswer['thresholds'][number];

export interface Tick extends Threshold {
  /** Row of its label, from 0. */
  readonly row: number;
  /** True if the label stands left of its tick, so that it stays inside. */
  readonly isAtEnd: boolean;
}

/** Share of the bar that a label takes. */
const LABEL_SHARE = 0.13;

/** Gives each threshold a row for its label, so that labels of near thresholds do not cover each other. */
export function placeTicks(thresholds: readonly Threshold[], span: number): Tick[] {
  const sorted = thresholds.toSorted((one, other) => one.tokens - other.tokens);
  const ends: number[] = [];
  return sorted
    .filter(({ tokens }) => tokens <= span)
    .map((threshold) => {
      const at = threshold.tokens / span;
      const isAtEnd = at > 1 - LABEL_SHARE;
      const [start, end] = isAtEnd ? [at - LABEL_SHARE, at] : [at, at + LABEL_SHARE];
      const free = ends.findIndex((taken) => taken <= start);
      const row = free === -1 ? ends.length : free;
      ends[row] = end;
      return { ...threshold, row, isAtEnd };
    });
}
