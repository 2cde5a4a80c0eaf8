/**
 * Compares the speed of turnfold's token encoder with js-tiktoken's on four kinds of real text: `node bench/tokens.ts
 * [--json]`. Checks first that both return the same ids. Their runs alternate, so that other load on the machine slows
 * both.
 */
import { Tiktoken } from 'js-tiktoken/lite';
import ranks from 'js-tiktoken/ranks/o200k_base';
import { loadTokenCounter } from '../src/tokens/token-counter.ts';
import { readTexts } from '../test/tokens/corpus.ts';
import { describeSpread, type Spread, spreadOf, timeMs } from './spread.ts';

const RUNS = 9;
const UNITS = 200_000;

interface Row {
  readonly text: string;
  readonly kilobytes: number;
  readonly tokens: number;
  readonly turnfoldMs: Spread;
  readonly jsTiktokenMs: Spread;
  /** js-tiktoken's time divided by turnfold's, run by run. */
  readonly ratio: Spread;
}

async function measure(): Promise<Row[]> {
  const counter = await loadTokenCounter('o200k_base');
  const jsTiktoken = new Tiktoken(ranks);
  const rows: Row[] = [];
  for (const [name, whole] of Object.entries(readTexts())) {
    const text = whole.slice(0, UNITS);
    const ours = (): number[] => counter.encode(text);
    const theirs = (): number[] => jsTiktoken.encode(text, [], []);
    const ids = ours();
    if (ids.join() !== theirs().join())
      throw new Error(`turnfold and js-tiktoken return different token ids for ${name}`);
    const runs = Array.from({ length: RUNS }, () => ({ ours: timeMs(ours), theirs: timeMs(theirs) }));
    rows.push({
      text: name,
      kilobytes: Math.round(Buffer.byteLength(text) / 1_000),
      tokens: ids.length,
      turnfoldMs: spreadOf(runs.map((run) => run.ours)),
      jsTiktokenMs: spreadOf(runs.map((run) => run.theirs)),
      ratio: spreadOf(runs.map((run) => run.theirs / run.ours)),
    });
  }
  return rows;
}

const rows = await measure();
if (process.argv.includes('--json')) console.log(JSON.stringify({ runs: RUNS, rows }));
else {
  console.log(`o200k_base, ${RUNS} interleaved runs, median (min–max)`);
  console.table(
    rows.map(({ text, kilobytes, tokens, turnfoldMs, jsTiktokenMs, ratio }) => ({
      text,
      kilobytes,
      tokens,
      'turnfold ms': describeSpread(turnfoldMs),
      'js-tiktoken ms': describeSpread(jsTiktokenMs),
      ratio: describeSpread(ratio),
    })),
  );
}
