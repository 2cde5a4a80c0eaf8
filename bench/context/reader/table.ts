import { meanOfFamilies } from '../measure.ts';
import { shareRight } from '../quality/answers/questions.ts';
import { ANSWER_KINDS } from '../quality/answers/topic.ts';
import { percent, type Table } from '../tables.ts';
import type { Readings } from './ask.ts';

/** Answerability of each row as a reader answers, beside the answers that code finds in the same contexts. */
export function tabulateReadings({ readings }: Pick<Readings, 'readings'>): Table {
  const rows = [...Map.groupBy(readings, ({ row }) => row)].map(([row, own]) => [
    row,
    String(own.length),
    percent(meanOfFamilies(own, ({ byCode }) => byCode)),
    percent(meanOfFamilies(own, ({ answers }) => answers)),
    ...ANSWER_KINDS.map((kind) =>
      percent(meanOfFamilies(own, ({ grades }) => (grades[kind] === undefined ? undefined : shareRight(grades[kind])))),
    ),
  ]);
  return { header: ['row', 'contexts', 'A by code', 'A by reader', ...ANSWER_KINDS], rows };
}
