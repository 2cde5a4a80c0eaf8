import type { UseWeights } from './use-features.ts';

/**
 * Written by `node scripts/fit-use-weights.ts`. Do not edit.
 *
 * - Recordings: 218 conversations, digest c58be11958633a6b, cut at 525 places.
 * - Terms: 313499, of which the agent used 16607 in the next 40 messages.
 * - Fit: logistic regression, L2 100.
 * - AUC within a cut, on a family that the table was not fitted on: 0.822.
 * - AUC within a cut, on a group that the table was not fitted on: 0.829.
 * - AUC within a cut of weights set by hand: 0.799.
 */
export const USE_WEIGHTS: UseWeights = {
  bias: -2.611,
  features: {
    age: { own: -0.344, peers: -0.022 },
    distanceIfOnce: { own: -0.23, peers: -0.118 },
    occurrences: { own: 0.243, peers: -0.356 },
    called: { own: 0.579, peers: 0.541 },
    said: { own: 0.342, peers: 0.249 },
    company: { own: 0.352, peers: -0.232 },
    inResult: { own: 0.622, peers: 0.829 },
    fromResult: { own: -0.361, peers: 0.441 },
    crowd: { own: -0.175, peers: -0.197 },
    asKey: { own: -0.504, peers: -1.437 },
    plain: { own: 0, peers: -1.477 },
    length: { own: 0.284, peers: 0.401 },
  },
};
