import type { UseWeights } from './use-features.ts';

/**
 * Written by `node scripts/fit-use-weights.ts`. Do not edit.
 *
 * - Recordings: 218 conversations, digest c58be11958633a6b, cut at 525 places.
 * - Terms: 313187, of which the agent used 16593 in the next 40 messages.
 * - Fit: logistic regression, L2 100.
 * - AUC within a cut, on a family that the table was not fitted on: 0.823.
 * - AUC within a cut, on a group that the table was not fitted on: 0.829.
 * - AUC within a cut of weights set by hand: 0.799.
 */
export const USE_WEIGHTS: UseWeights = {
  bias: -2.68,
  features: {
    age: { own: -0.342, peers: -0.014 },
    distanceIfOnce: { own: -0.232, peers: -0.119 },
    occurrences: { own: 0.245, peers: -0.362 },
    called: { own: 0.572, peers: 0.533 },
    said: { own: 0.332, peers: 0.243 },
    company: { own: 0.37, peers: -0.165 },
    inResult: { own: 0.626, peers: 0.826 },
    fromResult: { own: -0.361, peers: 0.445 },
    crowd: { own: -0.174, peers: -0.196 },
    asKey: { own: -0.507, peers: -1.445 },
    plain: { own: 0, peers: -1.477 },
    length: { own: 0.279, peers: 0.419 },
  },
};
