import type { UseWeights } from '../../src/domain/evidence/use-probability.ts';

const own = (weight: number): { own: number; peers: number } => ({ own: weight, peers: 0 });

/** A guess by hand: terms that are new, used in calls, rare of their kind, and no plain words. The fitted table has to do better. */
export const HAND_SET: UseWeights = {
  bias: 0,
  features: {
    age: own(-0.5),
    called: own(0.7),
    distanceIfOnce: own(-0.5),
    crowd: own(-0.25),
    alike: own(-0.25),
    alikeInResults: own(0),
    asKey: own(-1),
    plain: own(-1.5),
  },
};
