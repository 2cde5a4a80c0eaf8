import type { UseWeights } from '../../src/compaction/evidence/use-features.ts';

const own = (weight: number): { own: number; peers: number } => ({ own: weight, peers: 0 });

/**
 * A guess by hand: terms that are new, used in calls, rare of their kind, and no plain words. `--compare` measures the guess
 * beside the fitted tables. docs/explanation/evidence.md has the figures.
 */
export const HAND_SET: UseWeights = {
  bias: 0,
  features: {
    age: own(-0.5),
    distanceIfOnce: own(-0.5),
    occurrences: own(0),
    called: own(0.7),
    said: own(0),
    company: own(0),
    inResult: own(0),
    fromResult: own(0),
    crowd: own(-0.25),
    asKey: own(-1),
    plain: own(-1.5),
    length: own(0),
  },
};
