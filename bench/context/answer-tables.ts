import { type Estimate, estimateMean } from './intervals.ts';
import { type Measured, meanOfFamilies } from './measure.ts';
import { FAMILIES } from './points.ts';
import { shareRight } from './quality/answers/questions.ts';
import { ANSWER_KINDS, type Grades } from './quality/answers/topic.ts';
import { percent, type Table } from './tables.ts';

/** A context with the answers that it gives. */
export interface Answered {
  readonly grades: Grades;
}

/** Answerability by kind. Values are pooled over all points, because some points have few. */
export function tabulateAnswers(measured: readonly Measured[]): Table {
  const rows = [...Map.groupBy(measured, ({ row }) => row)].map(([row, own]) => {
    const kinds = ANSWER_KINDS.map((kind) =>
      meanOfFamilies(own, ({ grades }) => (grades[kind] === undefined ? undefined : shareRight(grades[kind]))),
    );
    const { known, wrongOfStated } = poolValues(own);
    return [row, ...[meanOfFamilies(own, ({ answers }) => answers), ...kinds, known, wrongOfStated].map(percent)];
  });
  return { header: ['row', 'A', ...ANSWER_KINDS, 'values known', 'wrong of stated'], rows };
}

/** Shares of all values of all contexts: known ones, and wrong ones among those that a context states. */
export function poolValues(all: readonly Answered[]): { readonly known: number; readonly wrongOfStated: number } {
  let [asked, right, wrong] = [0, 0, 0];
  for (const { value } of all.map(({ grades }) => grades)) {
    asked += value?.asked ?? 0;
    right += value?.right ?? 0;
    wrong += value?.wrong ?? 0;
  }
  return { known: right / asked, wrongOfStated: wrong / (right + wrong) };
}

/** Figures of one row for each family, with the number of conversations and the intervals of the means. */
export function tabulateIntervals(own: readonly Measured[]): Table {
  const lineOf = (name: string, part: readonly Measured[]): string[] => {
    const recall = estimateMean(part, (one) => one.recall);
    const estimates = [
      recall,
      estimateMean(part, ({ rare }) => rare),
      estimateMean(part, ({ far }) => far),
      estimateMean(part, ({ selectivity }) => selectivity),
      estimateMean(part, ({ answers }) => answers),
    ];
    return [name, String(recall.conversations), String(recall.points), ...estimates.map(describeEstimate)];
  };
  const families = FAMILIES.filter((family) => own.some((one) => one.family === family));
  const rows = families.map((family) =>
    lineOf(
      family,
      own.filter((one) => one.family === family),
    ),
  );
  return {
    header: ['family', 'conversations', 'points', 'recall', 'rare', 'far', 'J', 'A'],
    rows: [...rows, lineOf('mean of families', own)],
  };
}

/** E.g. `80.3 (77–83)`. */
export function describeEstimate({ mean, interval }: Estimate): string {
  if (interval === undefined) return percent(mean);
  const [low, high] = interval.map((end) => (100 * end).toFixed(0));
  return `${percent(mean)} (${low}–${high})`;
}
