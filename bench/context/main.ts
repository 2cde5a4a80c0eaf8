/**
 * Measures how much of what an agent uses next its compacted context still holds, over recorded conversations:
 * `npm run bench:context -- [--budgets 0.2,2000] [--families chat,coding] [--rows mask,turnfold] [--held-out <folder>]
 * [--no-live] [--json | --contexts <file> | --write]`. A budget below 1 is a share of the source. Budgets in tokens
 * apply to sources of at least 20,000 tokens. `--contexts` writes the contexts as lines that the reference harness reads.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { BASELINES } from './baselines.ts';
import { LADDERS } from './ladder-rows.ts';
import { playLive } from './live.ts';
import { type Measured, maxTokensOf, measureRow } from './measure.ts';
import { type BenchRecording, FAMILIES, type Family, familyOf, findPoints, readRecordings } from './points.ts';
import { type Row, sumTokens } from './row.ts';
import { loadOtherSystems } from './systems/load.ts';
import { type LiveRow, tabulateFamilies, tabulateQuality, toText } from './tables.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    budgets: { type: 'string', default: '0.2,1000,2000,4000,8000' },
    families: { type: 'string', default: FAMILIES.join() },
    rows: { type: 'string' },
    'held-out': { type: 'string' },
    live: { type: 'boolean', default: true },
    json: { type: 'boolean', default: false },
    contexts: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

const budgets = values.budgets.split(',').map(Number);
const families = values.families.split(',') as Family[];
const folder = values['held-out'];

const others = await loadOtherSystems();
if (others.missing.length > 0)
  console.error(`rows skipped: ${others.missing.join(', ')} not installed: npm ci --prefix bench/context/systems`);
const rows = chooseRows([...BASELINES, ...others.rows, ...LADDERS]);
const recordings = readRecordings(folder === undefined ? undefined : pathToFileURL(`${resolve(folder)}/`));

function chooseRows(all: readonly Row[]): readonly Row[] {
  const names = values.rows?.split(',') ?? all.map(({ name }) => name);
  return names.map((name) => {
    const row = all.find((one) => one.name === name);
    if (row === undefined) throw new Error(`--rows: no row "${name}". Rows: ${all.map((one) => one.name).join(', ')}`);
    return row;
  });
}

async function measureAll(): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const bench of findPoints(recordings, families)) {
    for (const budget of budgets) {
      for (const row of rows) {
        const one = await measureRow(row, bench, budget);
        if (one !== undefined) measured.push(one);
      }
    }
  }
  return measured;
}

async function playAll(): Promise<LiveRow[]> {
  const chosen = recordings.filter(({ group }) => families.includes(familyOf(group)));
  const played: LiveRow[] = [];
  for (const budget of budgets) {
    for (const row of rows) for (const recording of chosen) played.push(...(await play(row, recording, budget)));
  }
  return played;
}

async function play(row: Row, recording: BenchRecording, budget: number): Promise<LiveRow[]> {
  const maxTokens = maxTokensOf(budget, sumTokens(recording.messages.filter(({ role }) => role !== 'system')));
  const figures = maxTokens === undefined ? undefined : await playLive(row, recording, maxTokens);
  return figures === undefined ? [] : [{ row: row.name, budget, figures }];
}

const measured = await measureAll();
if (values.contexts !== undefined) {
  const lines = measured.map(({ conversation: id, cut: t, maxTokens, row, context }) =>
    JSON.stringify({ id, t, budget: maxTokens, row, context }),
  );
  writeFileSync(values.contexts, `${lines.join('\n')}\n`);
} else if (values.json) {
  console.log(JSON.stringify(measured.map(({ context: _context, ...figures }) => figures)));
} else {
  const live = values.live ? await playAll() : [];
  for (const budget of budgets) {
    const own = measured.filter((one) => one.budget === budget);
    console.log(`\nbudget ${budget < 1 ? `${100 * budget} %` : `${budget} tokens`}`);
    console.log(
      toText(
        tabulateQuality(
          own,
          live.filter((one) => one.budget === budget),
        ),
      ),
    );
    console.log(`\n${toText(tabulateFamilies(own))}`);
  }
}
