/**
 * Measures how much of what an agent uses next its compacted context still holds, over recorded conversations:
 * `npm run bench:context -- [--budgets 0.2,2000] [--families chat,coding] [--rows mask,turnfold] [--held-out <folder>]
 * [--no-live] [--planted] [--json | --contexts <file> | --write | --html <file>]`. A budget below 1 is a share of the
 * source. Budgets in tokens apply to sources of at least 20,000 tokens. `--contexts` writes the contexts for the
 * reference harness. `--html` writes a report with tables and bars. `--write` writes the page of the documentation,
 * which also shows planted facts and recorded summaries.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { BASELINES } from './baselines.ts';
import { LADDERS } from './ladder-rows.ts';
import { playLive } from './live.ts';
import { type Measured, maxTokensOf, measureRow } from './measure.ts';
import { type BudgetResults, nameBudget, tabulatePlanted, writePage } from './page.ts';
import { measurePlanted } from './planted-run.ts';
import { FAMILIES, type Family, familyOf, findPoints, readRecordings } from './points.ts';
import { measureRecorded } from './recorded.ts';
import { writeReport } from './report.ts';
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
    planted: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    html: { type: 'string' },
  },
});

/** Page of the documentation that `--write` replaces. */
const PAGE = new URL('../../docs/explanation/context-quality.md', import.meta.url);

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

async function measureAll(): Promise<Map<number, Measured[]>> {
  const measured = new Map(budgets.map((budget) => [budget, [] as Measured[]]));
  for (const bench of findPoints(recordings, families)) {
    for (const [budget, results] of measured) {
      const maxTokens = maxTokensOf(budget, bench.tokens);
      if (maxTokens === undefined) continue;
      for (const row of rows) {
        const one = await measureRow(row, bench, maxTokens);
        if (one !== undefined) results.push(one);
      }
    }
  }
  return measured;
}

async function playAll(budget: number): Promise<LiveRow[]> {
  const chosen = recordings.filter(({ group }) => families.includes(familyOf(group)));
  const played: LiveRow[] = [];
  for (const row of rows) {
    for (const recording of chosen) {
      const maxTokens = maxTokensOf(budget, sumTokens(recording.messages.filter(({ role }) => role !== 'system')));
      const figures = maxTokens === undefined ? undefined : await playLive(row, recording, maxTokens);
      if (figures !== undefined) played.push({ row: row.name, figures });
    }
  }
  return played;
}

const measured = await measureAll();
if (values.contexts !== undefined) writeContexts(values.contexts, [...measured.values()].flat());
else if (values.json) {
  const all = [...measured].flatMap(([budget, own]) =>
    own.map(({ context: _context, ...one }) => ({ budget, ...one })),
  );
  console.log(JSON.stringify(all));
} else {
  const results: BudgetResults[] = [];
  for (const [budget, own] of measured) {
    const live = values.live ? await playAll(budget) : [];
    results.push({ budget, measured: own, live });
    console.log(
      `\nbudget: ${nameBudget(budget)}\n${toText(tabulateQuality(own, live))}\n\n${toText(tabulateFamilies(own))}`,
    );
  }
  const planted = values.planted || values.write ? await measurePlanted(recordings, rows.filter(isFair)) : [];
  if (planted.length > 0) console.log(`\nplanted facts, kept of 100\n${toText(tabulatePlanted(planted))}`);
  if (values.html !== undefined) writeFileSync(values.html, writeReport(recordings.length, results, planted));
  if (values.write) {
    const recorded = await measureRecorded(recordings, rows);
    const page = writePage({ conversations: recordings.length, budgets: results, recorded, planted });
    writeFileSync(PAGE, page);
    console.log(`written: ${PAGE.pathname}`);
  }
}

/** The oracle knows needles, but no planted facts. */
function isFair({ name }: Row): boolean {
  return name !== 'oracle';
}

function writeContexts(path: string, all: readonly Measured[]): void {
  const lines = all.map(({ conversation: id, cut: t, maxTokens, row, context }) =>
    JSON.stringify({ id, t, budget: maxTokens, row, context }),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
}
