import { type BenchPoint, type BenchRecording, FAMILIES, findPoints } from '../../bench/context/points.ts';
import type { QualityScore } from '../../bench/context/quality/score.ts';
import { chooseFragments } from '../../src/compaction/evidence/coverage.ts';
import { type Fragment, type Ledger, readLedger } from '../../src/compaction/evidence/ledger.ts';
import type { UseWeights } from '../../src/compaction/evidence/use-features.ts';
import { valueTerms } from '../../src/compaction/evidence/use-probability.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { heldOutTables } from './fit-table.ts';
import { HAND_SET } from './hand-set.ts';
import type { Sample } from './samples.ts';
import { meanAuc } from './scores.ts';

/** A budget below 1 is a share of the source's tokens. Others apply to sources of at least 20,000 tokens. */
const BUDGETS = [0.2, 2_000];
const MIN_TOKENS_OF_LONG = 20_000;
/** Estimated characters of a token. The same for all tables. */
const CHARS_A_TOKEN = 3.6;
const HEAD_TOKENS = 3;

type TableOf = (family: string, group: string) => UseWeights;

/** Prints AUC, recall, recall of rare needles and J of contexts that are chosen by each table alone. */
export function compareTables(samples: readonly Sample[], recordings: readonly BenchRecording[]): void {
  const byFamily = heldOutTables(samples, 'family');
  const byGroup = heldOutTables(samples, 'group');
  const rows: Readonly<Record<string, TableOf>> = {
    'set by hand': () => HAND_SET,
    'fitted without the family': (family) => byFamily.get(family) ?? HAND_SET,
    'fitted without the group': (_, group) => byGroup.get(group) ?? HAND_SET,
  };
  const points = [...findPoints(recordings)].map((bench) => ({
    bench,
    ledger: runToEnd(readLedger(bench.point.source)),
  }));
  for (const [name, tableOf] of Object.entries(rows)) {
    const auc = meanAuc(samples, ({ family, group }) => tableOf(family, group)).toFixed(3);
    const figures = BUDGETS.map((budget) => {
      const scores = points.flatMap(({ bench, ledger }) => {
        if (budget > 1 && bench.tokens < MIN_TOKENS_OF_LONG) return [];
        const table = tableOf(bench.family, bench.point.recording.group);
        const text = choose(ledger, table, budget < 1 ? budget * bench.tokens : budget);
        return [{ bench, score: bench.scorer.score(text) }];
      });
      const of = (value: (score: QualityScore) => number | undefined): string => meanOfFamilies(scores, value);
      return `${budget}: ${of(({ recall }) => recall)}/${of(({ rare }) => rare)}/${of(({ selectivity }) => selectivity)}`;
    });
    console.log(`${name}: AUC ${auc}, recall/rare/J at ${figures.join(', at ')}`);
  }
}

function choose(ledger: Ledger, table: UseWeights, maxTokens: number): string {
  const { fragments } = ledger;
  const chosen = runToEnd(
    chooseFragments({
      ledger,
      values: runToEnd(valueTerms(ledger, table)),
      tokens: Float64Array.from(fragments, ({ text }) => text.length / CHARS_A_TOKEN + 1),
      maxTokens,
      headTokens: HEAD_TOKENS,
      shown: [],
      mayChoose: () => true,
    }),
  );
  return chosen
    .toSorted((a, b) => a - b)
    .map((index) => (fragments[index] as Fragment).text)
    .join('\n');
}

interface Scored {
  readonly bench: BenchPoint;
  readonly score: QualityScore;
}

function meanOfFamilies(scores: readonly Scored[], value: (score: QualityScore) => number | undefined): string {
  const means = FAMILIES.flatMap((family) => {
    const own = scores.filter(({ bench }) => bench.family === family).flatMap(({ score }) => value(score) ?? []);
    return own.length === 0 ? [] : [own.reduce((sum, one) => sum + one, 0) / own.length];
  });
  return ((100 * means.reduce((sum, one) => sum + one, 0)) / means.length).toFixed(1);
}
