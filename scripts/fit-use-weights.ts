/**
 * Fits how likely an agent uses a term of its source again, and writes the table into the code:
 * `node scripts/fit-use-weights.ts [--check | --compare]`. The same recordings give the same table.
 *
 * - `--check` writes nothing. It fails if the code has another table.
 * - `--compare` writes nothing. It compares fitted tables with weights set by hand, on work that the tables were not fitted
 *   on.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readRecordings } from '../bench/context/points.ts';
import { compareTables } from './use-weights/compare.ts';
import { fitTable, heldOutTables, L2 } from './use-weights/fit-table.ts';
import { HAND_SET } from './use-weights/hand-set.ts';
import { digestOf, FITTED_GROUPS, readSamples } from './use-weights/samples.ts';
import { meanAuc } from './use-weights/scores.ts';
import { writeTable } from './use-weights/table-file.ts';

const file = new URL('../src/compaction/evidence/use-weights.ts', import.meta.url);
const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, compare: { type: 'boolean', default: false } },
});

const recordings = readRecordings().filter(({ group }) => FITTED_GROUPS.includes(group));
const samples = readSamples(recordings);
if (values.compare) compareTables(samples, recordings);
else {
  const text = writeTable(fitTable(samples), {
    recordings: digestOf(recordings),
    conversations: recordings.length,
    cuts: samples.length,
    terms: samples.reduce((sum, { used }) => sum + used.length, 0),
    used: samples.reduce((sum, { used }) => sum + used.reduce((count, one) => count + one, 0), 0),
    l2: L2,
    aucByFamily: heldOutAuc('family'),
    aucByGroup: heldOutAuc('group'),
    aucByHand: round(meanAuc(samples, () => HAND_SET)),
  });
  if (!values.check) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') === text)
    console.log('use-weights: the table in the code is that of the recordings');
  else {
    console.error('use-weights: the table in the code differs from a new fit. Run `node scripts/fit-use-weights.ts`.');
    process.exitCode = 1;
  }
}

/** Score of each sample by the table that was fitted without its family, or without its group. */
function heldOutAuc(by: 'family' | 'group'): number {
  const tables = heldOutTables(samples, by);
  return round(meanAuc(samples, (sample) => tables.get(sample[by]) ?? HAND_SET));
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
