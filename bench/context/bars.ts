const WIDTH = 40;
const BLOCK = '█';

export interface Bar {
  readonly name: string;
  /** From 0 to 1. Shares below 0 have an empty bar. */
  readonly share: number;
}

/** Draws shares as bars of text, with the value of 100 behind each. */
export function drawBars(bars: readonly Bar[]): string {
  const width = Math.max(0, ...bars.map(({ name }) => name.length));
  return bars
    .map(({ name, share }) => {
      const length = Math.max(0, Math.min(WIDTH, Math.round(share * WIDTH)));
      const value = Number.isNaN(share) ? '–' : (100 * share).toFixed(0);
      return `${name.padEnd(width)} ${BLOCK.repeat(length)} ${value}`;
    })
    .join('\n');
}
