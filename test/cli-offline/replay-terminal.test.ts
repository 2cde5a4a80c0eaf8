import { expect, it } from 'vitest';
import { openProgress } from '../../src/cli/commands/replay/progress.ts';
import { describePolicy } from '../../src/cli/commands/replay/summary.ts';

const FILE = new URL(import.meta.url).pathname;

/** A terminal that records its output. Without `columns` it is a pipe. */
function openTerminal(columns?: number) {
  const written: string[] = [];
  const stream = { isTTY: columns !== undefined, columns, write: (text: string) => written.push(text) };
  return { written, stream: stream as unknown as NodeJS.WriteStream };
}

const figures = {
  requests: 2_000,
  overLimit: 0,
  invalid: 0,
  compactions: 12,
  tokensSent: 4_000_000,
  tokensPeak: 5_000,
  tokensEnd: 3_000,
  recall: { compacted: 0.9, window: 0.8, needles: 10 },
  prefix: { bytes: 900, kept: 90, cheapest: 180 },
};
const replayed = {
  id: `recording-${'x'.repeat(80)}-7`,
  figures,
  sizes: [1_000, 5_000, 3_000],
  turns: [1, 1, 2],
  versions: [],
};

it.each([120, 60, 30, 12])(
  'the progress bar of a terminal with %i columns stays left of the last column and is cleared',
  async (columns) => {
    const { written, stream } = openTerminal(columns);
    const progress = await openProgress(FILE, stream);
    progress.advance(500, 10);
    progress.clear();
    const [drawn = '', cleared = ''] = written;
    expect(drawn).toMatch(/^\r.*\d+%/);
    expect(drawn.slice(1).length).toBeLessThan(columns);
    expect(cleared).toBe(`\r${' '.repeat(drawn.length - 1)}\r`);
    expect(written.join('')).not.toContain('\u001B');
  },
);

it('turnfold replay prints no progress without a terminal', async () => {
  const { written, stream } = openTerminal();
  const progress = await openProgress(FILE, stream);
  progress.advance(500, 10);
  progress.clear();
  expect(written).toEqual([]);
});

it('the replay table shortens long names in the middle, never figures', () => {
  const tried = { name: 'p.yaml', replayed: [replayed], limits: { usable: 8_000, upperBoundFactor: 1 } };
  const [wide, narrow] = [describePolicy(tried, 120), describePolicy(tried, 90)];
  expect(wide[4]).toMatch(/^recording-x+…x+-7 /);
  expect(narrow[4]?.length).toBeLessThanOrEqual(90);
  expect(narrow[4]).toMatch(/^record.*…x+-7 +2000 +0 +0 +12 +4000000 +5000 +3000 +90.0% +80.0% +50.0%$/);
});
