import { describeEstimate } from './answer-tables.ts';
import { DEPTHS, type DeepNeedle, type DeepPass, type DeepRun } from './depth.ts';
import { estimateMean } from './intervals.ts';
import { meanOf } from './measure.ts';
import { AGES, type LiveRules } from './planted-live.ts';
import { shareRight } from './quality/answers/questions.ts';
import { ANSWER_KINDS } from './quality/answers/topic.ts';
import { percent, type Table } from './tables.ts';

/** Answerability over all passes and after the last, and what must not happen. */
export function tabulateDeep(runs: readonly DeepRun[]): Table {
  const rows = groupRuns(runs).map(({ row, own, passes }) => {
    const mean = estimateMean(passes, ({ answers }) => answers);
    const last = passes.filter(({ isLast }) => isLast);
    const sum = (valueOf: (run: DeepRun) => number): string =>
      String(own.reduce((total, run) => total + valueOf(run), 0));
    return [
      row,
      String(mean.conversations),
      String(passes.length),
      describeEstimate(mean),
      describeEstimate(estimateMean(last, ({ answers }) => answers)),
      sum(({ infeasible }) => infeasible),
      sum(({ lostSummaries }) => lostSummaries),
    ];
  });
  const header = [
    'row',
    'conversations',
    'passes',
    'A, all passes',
    'A, last pass',
    'infeasible',
    'fresh summaries lost',
  ];
  return { header, rows };
}

/** Answerability by kind over all passes. */
export function tabulateDeepKinds(runs: readonly DeepRun[]): Table {
  const rows = groupRuns(runs).map(({ row, passes }) => [
    row,
    ...ANSWER_KINDS.map((kind) => {
      const share = ({ grades }: DeepPass): number | undefined =>
        grades[kind] === undefined ? undefined : shareRight(grades[kind]);
      return percent(estimateMean(passes, share).mean);
    }),
  ]);
  return { header: ['row', ...ANSWER_KINDS], rows };
}

/** Recall by passes since a needle was last seen: of all needles, and as a mean of families. */
export function tabulateDepths(runs: readonly DeepRun[]): Table {
  const rows = groupRuns(runs).map(({ row, passes }) => [
    row,
    ...DEPTHS.map(([depth]) => {
      const at = passes.flatMap(({ family, conversation, needles }) =>
        needles.filter((needle) => needle.depth === depth).map(({ isKept }) => ({ family, conversation, isKept })),
      );
      const pooled = meanOf(at.map(({ isKept }) => Number(isKept)));
      const families = estimateMean(at, ({ isKept }) => Number(isKept)).mean;
      return `${percent(pooled)} / ${percent(families)}`;
    }),
  ]);
  const counts = DEPTHS.map(([depth]) => String(countNeedles(runs, depth)));
  return {
    header: ['row', ...DEPTHS.map(([depth]) => depth)],
    rows: [...rows, ['needles of the first row', ...counts]],
  };
}

function countNeedles(runs: readonly DeepRun[], depth: DeepNeedle['depth']): number {
  const [first] = runs;
  const passes = runs.filter(({ row }) => row === first?.row).flatMap((run) => run.passes);
  return passes.flatMap(({ needles }) => needles).filter((needle) => needle.depth === depth).length;
}

/** Share of planted rules that contexts still hold, by passes since a rule was said. */
export function tabulateLiveRules(all: readonly LiveRules[]): Table {
  const rows = [...Map.groupBy(all, ({ row }) => row)].map(([row, own]) => [
    row,
    ...AGES.map(([age]) => {
      const at = own.filter((one) => one.age === age);
      const planted = at.reduce((sum, one) => sum + one.planted, 0);
      const kept = at.reduce((sum, one) => sum + one.kept, 0);
      return planted === 0 ? '–' : `${percent(kept / planted)} of ${planted}`;
    }),
  ]);
  return { header: ['row', ...AGES.map(([age]) => age)], rows };
}

function groupRuns(
  runs: readonly DeepRun[],
): { readonly row: string; readonly own: readonly DeepRun[]; readonly passes: readonly DeepPass[] }[] {
  const byRow = [...Map.groupBy(runs, ({ row }) => row)];
  return byRow.map(([row, own]) => ({ row, own, passes: own.flatMap(({ passes }) => passes) }));
}
