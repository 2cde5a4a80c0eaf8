import { type Measured, measureContext, measureRow } from './measure.ts';
import { type BenchRecording, countTokens, preparePoint } from './points.ts';
import { Corpus } from './quality/corpus.ts';
import type { Row } from './row.ts';

/** Contexts of one recorded compaction, all with the size of the summary that a model wrote then. */
export interface RecordedCompaction {
  readonly conversation: string;
  readonly cut: number;
  /** Tokens of the recorded summary, and the budget of all other rows. */
  readonly tokens: number;
  readonly measured: readonly Measured[];
}

/** Compares the rows with summaries that models wrote while the conversations were recorded. */
export async function measureRecorded(
  recordings: readonly BenchRecording[],
  rows: readonly Row[],
): Promise<RecordedCompaction[]> {
  const corpus = new Corpus(recordings);
  const compactions: RecordedCompaction[] = [];
  for (const recording of recordings) {
    for (const { text, cut: recordedCut } of recording.summaries) {
      const cut = skipResults(recording, recordedCut);
      const bench = preparePoint(recording, cut, corpus);
      const tokens = countTokens(text);
      const written = { row: 'recorded summary', ms: 0, ...measureContext(bench, text, tokens) };
      const measured: Measured[] = [written];
      for (const row of rows) {
        const one = await measureRow(row, bench, tokens);
        if (one !== undefined) measured.push(one);
      }
      compactions.push({ conversation: recording.id, cut, tokens, measured });
    }
  }
  return compactions;
}

/** A recording may be compacted inside a round. The cut moves behind the results of the round. */
function skipResults({ messages }: BenchRecording, cut: number): number {
  let at = cut;
  while (messages[at]?.role === 'tool') at += 1;
  return at;
}
