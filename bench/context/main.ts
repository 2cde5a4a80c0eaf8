/**
 * Compacts recorded conversations and measures the contexts: how much of what the agent uses next they still hold,
 * and which questions they answer.
 * Usage: `npm run bench:context -- [--budgets 0.2,2000] [--families chat,coding] [--rows mask,turnfold] [--held-out <folder>]
 * [--no-live] [--limits 12000,6000] [--planted] [--json | --contexts <file> | --write | --html <file>]
 * [--reader provider/model [--reader-requests 30] [--reader-tokens 300000]]`. A budget below 1 is a share of the
 * source. Budgets in tokens apply to sources of at least 20,000 tokens. `--limits` has the threshold and the budget of
 * conversations that are compacted again and again. `--contexts` writes the contexts for the reference harness. `--html`
 * writes a report with tables and bars. `--write` writes the page of the documentation, which also shows planted facts
 * and recorded summaries. `--reader` asks a model, which costs money: the cost is printed first.
 */
import { writeFileSync } from 'node:fs';
import { fieldError, isTurnfoldError } from '../../src/domain/errors.ts';
import type { Model } from '../../src/domain/model.ts';
import { resolveModel } from '../../src/host/resolve-model.ts';
import { tabulateAnswers, tabulateIntervals } from './answer-tables.ts';
import { BASELINES } from './baselines.ts';
import { tabulateDeep, tabulateDepths, tabulateLiveRules } from './depth-tables.ts';
import { LADDERS } from './ladder-rows.ts';
import type { Measured } from './measure.ts';
import { type BenchOptions, type ReaderOptions, readOptions } from './options.ts';
import { type BudgetResults, nameBudget, type Results, tabulatePlanted, writePage } from './page.ts';
import { measurePlanted } from './planted-run.ts';
import { readRecordings } from './points.ts';
import { Progress } from './progress.ts';
import { askReader } from './reader/ask.ts';
import { describePlan, planReader } from './reader/plan.ts';
import { tabulateReadings } from './reader/table.ts';
import { measureRecorded } from './recorded.ts';
import { writeReport } from './report.ts';
import type { Row } from './row.ts';
import { type BenchRun, listReadPoints, measureBilled, measureDeep, measurePoints } from './run.ts';
import { loadOtherSystems } from './systems/load.ts';
import { OWN_ROW, type Table, tabulateFamilies, tabulateQuality, toText } from './tables.ts';

/** Page of the documentation that `--write` replaces. */
const PAGE = new URL('../../docs/explanation/context-quality.md', import.meta.url);

function chooseRows(all: readonly Row[], names: readonly string[] | undefined): readonly Row[] {
  if (names === undefined) return all.filter(({ isExtra }) => isExtra !== true);
  return names.map((name) => {
    const row = all.find((one) => one.name === name);
    const known = all.map((one) => one.name).join(', ');
    if (row === undefined) throw fieldError('invalid_input', '--rows', `no row "${name}". Rows: ${known}`);
    return row;
  });
}

async function measureAll(options: BenchOptions): Promise<void> {
  // Before hours of work, so that a missing key ends the run at once.
  const model = options.reader === undefined ? undefined : resolveModel(options.reader.model);
  const others = await loadOtherSystems();
  if (others.missing.length > 0)
    console.error(`rows skipped: ${others.missing.join(', ')} not installed: npm ci --prefix bench/context/systems`);
  const rows = chooseRows([...BASELINES, ...others.rows, ...LADDERS], options.rows);
  const recordings = readRecordings(options.folder);
  const progress = new Progress();
  const run: BenchRun = { recordings, families: options.families, rows, progress };
  const measured = await measurePoints(run, options.budgets);
  const { output } = options;
  if (output.kind === 'contexts') writeContexts(output.path, [...measured.values()].flat());
  else if (output.kind === 'json') console.log(JSON.stringify(listJson(measured)));
  else await report(options, run, measured);
  if (options.reader !== undefined && model !== undefined) await read(run, measured, { ...options.reader, model });
  progress.end();
}

async function report(
  { hasLive, limits, hasPlanted, output }: BenchOptions,
  run: BenchRun,
  measured: ReadonlyMap<number, Measured[]>,
): Promise<void> {
  const { recordings, rows, progress } = run;
  const billed = await measureBilled(run, hasLive ? [...measured.keys()] : []);
  const budgets: BudgetResults[] = [];
  for (const [budget, own] of measured) {
    const live = billed.get(budget) ?? [];
    budgets.push({ budget, measured: own, live });
    print(`budget: ${nameBudget(budget)}`, tabulateQuality(own, live), tabulateAnswers(own), tabulateFamilies(own));
    print(OWN_ROW, tabulateIntervals(own.filter(({ row }) => row === OWN_ROW)));
  }
  const deep = hasLive ? await measureDeep(run, limits) : { runs: [], rules: [] };
  if (deep.runs.length > 0)
    print('again and again', tabulateDeep(deep.runs), tabulateDepths(deep.runs), tabulateLiveRules(deep.rules));
  progress.begin('planted facts');
  const planted = hasPlanted ? await measurePlanted(recordings, rows.filter(isFair)) : [];
  if (planted.length > 0) print('planted facts, kept of 100', tabulatePlanted(planted));
  progress.begin('recorded summaries');
  const recorded = output.kind === 'page' ? await measureRecorded(recordings, rows) : [];
  const results: Results = { conversations: recordings.length, budgets, deep, limits, recorded, planted };
  if (output.kind === 'html') writeFileSync(output.path, writeReport(results));
  if (output.kind !== 'page') return;
  writeFileSync(PAGE, writePage(results));
  console.log(`written: ${PAGE.pathname}`);
}

/** Asks a real model about some of the contexts of the first budget. */
async function read(
  run: BenchRun,
  measured: ReadonlyMap<number, Measured[]>,
  { model, ...limits }: Omit<ReaderOptions, 'model'> & { readonly model: Model },
): Promise<void> {
  const [first = []] = [...measured.values()];
  const { prices } = model.profile;
  const plan = planReader(listReadPoints(run, first), limits, prices);
  console.log(`\nreader ${model.profile.id}: ${describePlan(plan)}`);
  run.progress.begin('reader');
  const readings = await askReader(model, plan, run.progress);
  const { failures, inputTokens, outputTokens } = readings;
  print(`used ${inputTokens} input and ${outputTokens} output tokens`, tabulateReadings(readings));
  for (const message of failures) console.error(`reader failed: ${message}`);
  if (failures.length > 0) process.exitCode = 1;
}

function print(title: string, ...tables: readonly Table[]): void {
  console.log(`\n${[title, ...tables.map(toText)].join('\n\n')}`);
}

/** The oracle knows needles, but no planted facts. */
function isFair({ name }: Row): boolean {
  return name !== 'oracle';
}

function listJson(measured: ReadonlyMap<number, Measured[]>): object[] {
  return [...measured].flatMap(([budget, own]) => own.map(({ context: _context, ...one }) => ({ budget, ...one })));
}

function writeContexts(path: string, all: readonly Measured[]): void {
  const lines = all.map(({ conversation: id, cut: t, maxTokens, row, context }) =>
    JSON.stringify({ id, t, budget: maxTokens, row, context }),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
}

try {
  await measureAll(readOptions(process.argv.slice(2), process.env['CI'] !== undefined));
} catch (error) {
  if (!isTurnfoldError(error)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 2;
}
