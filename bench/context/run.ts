import { type DeepRun, isLongEnough, measureDepth } from './depth.ts';
import { playLive } from './live.ts';
import type { LiveLimits } from './live-context.ts';
import { type Measured, maxTokensOf, measureRow } from './measure.ts';
import { type LiveRules, measureLiveRules } from './planted-live.ts';
import { type BenchRecording, type Family, familyOf, findPoints } from './points.ts';
import type { Progress } from './progress.ts';
import { Questions } from './quality/answers/questions.ts';
import { Corpus } from './quality/corpus.ts';
import type { ReadPoint } from './reader/plan.ts';
import { type Row, sumTokens } from './row.ts';
import type { LiveRow } from './tables.ts';

/** Recordings and rows of one run of the benchmark. */
export interface BenchRun {
  /** All recordings. They are the corpus, also if only some families are measured. */
  readonly recordings: readonly BenchRecording[];
  readonly families: readonly Family[];
  readonly rows: readonly Row[];
  readonly progress: Progress;
}

/** Compacts each point once with each row, to each budget. */
export async function measurePoints(
  { recordings, families, rows, progress }: BenchRun,
  budgets: readonly number[],
): Promise<Map<number, Measured[]>> {
  const measured = new Map(budgets.map((budget) => [budget, [] as Measured[]]));
  progress.begin('points');
  for (const bench of findPoints(recordings, families)) {
    progress.report(recordings.indexOf(bench.point.recording as BenchRecording) + 1, recordings.length);
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

/**
 * Plays each conversation with each row, for the number of passes and the tokens billed. A conversation is played under
 * all budgets in a row, because the counts of its texts are remembered for a while.
 */
export async function measureBilled(run: BenchRun, budgets: readonly number[]): Promise<Map<number, LiveRow[]>> {
  const chosen = chooseRecordings(run);
  const played = new Map(budgets.map((budget) => [budget, [] as LiveRow[]]));
  run.progress.begin('passes and tokens billed');
  for (const [index, recording] of chosen.entries()) {
    run.progress.report(index, chosen.length);
    const tokens = sumTokens(recording.messages.filter(({ role }) => role !== 'system'));
    for (const [budget, results] of played) {
      const maxTokens = maxTokensOf(budget, tokens);
      if (maxTokens === undefined) continue;
      for (const row of run.rows) {
        const figures = await playLive(row, recording, maxTokens);
        if (figures !== undefined) results.push({ row: row.name, figures });
      }
    }
  }
  return played;
}

/** Rows that are played again and again. Each costs as much as all its points. */
const DEEP_ROWS: ReadonlySet<string> = new Set(['turnfold', 'mask', 'calls + window']);

/** Plays long conversations with some rows, and measures the context of each pass. */
export async function measureDeep(
  run: BenchRun,
  limits: LiveLimits,
): Promise<{ readonly runs: DeepRun[]; readonly rules: LiveRules[] }> {
  const corpus = new Corpus(run.recordings);
  const chosen = chooseRecordings(run).filter((recording) => isLongEnough(recording, limits));
  const runs: DeepRun[] = [];
  const rules: LiveRules[] = [];
  for (const row of run.rows.filter(({ name }) => DEEP_ROWS.has(name))) {
    run.progress.begin(`passes, ${row.name}`);
    for (const [seed, recording] of chosen.entries()) {
      run.progress.report(seed, chosen.length);
      runs.push(await measureDepth(row, recording, { corpus, limits }));
      rules.push(...(await measureLiveRules(row, recording, { limits, seed })));
    }
  }
  return { runs, rules };
}

function chooseRecordings({ recordings, families }: BenchRun): BenchRecording[] {
  return recordings.filter(({ group }) => families.includes(familyOf(group)));
}

/** Rows that a reader compares, as far as they are chosen. */
const READ_ROWS: ReadonlySet<string> = new Set(['turnfold', 'calls + window', 'window']);

/** Points with the contexts that a reader gets. */
export function listReadPoints({ recordings }: BenchRun, measured: readonly Measured[]): ReadPoint[] {
  const byPoint = Map.groupBy(
    measured.filter(({ row }) => READ_ROWS.has(row)),
    ({ conversation, cut }) => `${conversation} ${cut}`,
  );
  const byId = new Map(recordings.map((recording) => [recording.id, recording]));
  return [...byPoint.values()].flatMap((contexts) => {
    const [first] = contexts;
    const recording = byId.get(first?.conversation ?? '');
    if (first === undefined || recording === undefined) return [];
    return [{ bench: { family: first.family, questions: new Questions(recording, first.cut) }, contexts }];
  });
}
