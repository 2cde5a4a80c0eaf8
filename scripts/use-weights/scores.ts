import { FAMILIES } from '../../bench/context/points.ts';
import type { UseWeights } from '../../src/compaction/evidence/use-features.ts';
import { FEATURE_NAMES } from '../../src/compaction/evidence/use-features.ts';
import { type Sample, WIDTH } from './samples.ts';

/**
 * Probability that a used term ranks above an unused one of the same cut. The result is the mean over the samples of each
 * family, then over the families.
 */
export function meanAuc(samples: readonly Sample[], tableOf: (sample: Sample) => UseWeights): number {
  const means = FAMILIES.flatMap((family) => {
    const own = samples.filter((sample) => sample.family === family);
    return own.length === 0 ? [] : [meanOf(own.map((sample) => aucOf(sample, tableOf(sample))))];
  });
  return meanOf(means);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function aucOf({ own, peers, groups, used }: Sample, { bias, features }: UseWeights): number {
  const scores = Array.from(groups, (group, term) =>
    FEATURE_NAMES.reduce((sum, name, column) => {
      const { own: ofTerm, peers: ofPeers } = features[name];
      return sum + ofTerm * (own[term * WIDTH + column] ?? 0) + ofPeers * (peers[group * WIDTH + column] ?? 0);
    }, bias),
  );
  const ranked = [...scores.keys()].toSorted((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0));
  const count = used.reduce((sum, one) => sum + one, 0);
  const ranks = ranked.reduce((sum, term, rank) => sum + (used[term] === 1 ? rank + 1 : 0), 0);
  return (ranks - (count * (count + 1)) / 2) / count / (used.length - count);
}
