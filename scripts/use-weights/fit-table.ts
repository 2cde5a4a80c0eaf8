import type { FeatureWeights, UseWeights } from '../../src/compaction/evidence/use-features.ts';
import { FEATURE_NAMES } from '../../src/compaction/evidence/use-features.ts';
import { fitLogistic } from './logistic.ts';
import { type Sample, WIDTH } from './samples.ts';

/** Penalty on the squares of the weights. */
export const L2 = 100;
const DIGITS = 1_000;

/**
 * Fits the table. Each family counts the same, and each sample within its family. The regression sees the mean of a term's
 * peers and the distance of the term from it, because both are nearly independent. The table has the own value and the mean.
 */
export function fitTable(samples: readonly Sample[]): UseWeights {
  const places = samples.flatMap((sample) => Array.from(sample.used.keys(), (term) => ({ sample, term })));
  const columns = 2 * WIDTH + 1;
  const coefficients = fitLogistic({
    rows: places.length,
    columns,
    readRow: (index, row) => {
      const place = places[index];
      if (place !== undefined) readRow(place.sample, place.term, row);
    },
    outcomes: Uint8Array.from(places, ({ sample, term }) => sample.used[term] ?? 0),
    shares: sharesOf(samples, places.length),
    l2: L2,
  });
  const features = FEATURE_NAMES.map((name, column): [string, FeatureWeights] => {
    const [distance = 0, mean = 0] = [coefficients[column], coefficients[WIDTH + column]];
    return [name, { own: round(distance), peers: round(mean - distance) }];
  });
  return {
    bias: round(coefficients[columns - 1] ?? 0),
    features: Object.fromEntries(features) as UseWeights['features'],
  };
}

/** Tables by the name of the family or group on which they were not fitted. */
export function heldOutTables(samples: readonly Sample[], by: 'family' | 'group'): Map<string, UseWeights> {
  const names = new Set(samples.map((sample) => sample[by]));
  return new Map(
    [...names].map((name): [string, UseWeights] => [name, fitTable(samples.filter((sample) => sample[by] !== name))]),
  );
}

function readRow({ own, peers, groups }: Sample, term: number, row: Float64Array): void {
  const group = groups[term] ?? 0;
  for (let column = 0; column < WIDTH; column += 1) {
    const mean = peers[group * WIDTH + column] ?? 0;
    row[column] = (own[term * WIDTH + column] ?? 0) - mean;
    row[WIDTH + column] = mean;
  }
  row[2 * WIDTH] = 1;
}

function sharesOf(samples: readonly Sample[], rows: number): Float64Array {
  const families = Map.groupBy(samples, ({ family }) => family);
  const shares = samples.flatMap(({ family, used }) => {
    const share = rows / families.size / (families.get(family)?.length ?? 1) / used.length;
    return Array.from(used, () => share);
  });
  return Float64Array.from(shares);
}

function round(weight: number): number {
  const rounded = Math.round(weight * DIGITS) / DIGITS;
  return rounded === 0 ? 0 : rounded;
}
