import type { UseWeights } from './use-features.ts';

/**
 * Written by `node scripts/fit-use-weights.ts`. Do not edit.
 *
 * - Recordings: 218 conversations, digest c58be11958633a6b, cut at 525 places.
 * - Terms: 313435, of which the agent used 16607 in the next 40 messages.
 * - Fit: logistic regression, L2 600.
 * - AUC within a cut, on a family that the table was not fitted on: 0.806.
 * - AUC within a cut, on a group that the table was not fitted on: 0.805.
 * - AUC within a cut of weights set by hand: 0.814.
 */
export const USE_WEIGHTS: UseWeights = {
  bias: -1.014,
  features: {
    age: { own: -0.198, peers: 0.018 },
    called: { own: 0.034, peers: 0.068 },
    distanceIfOnce: { own: -0.122, peers: -0.123 },
    crowd: { own: -0.081, peers: 0.14 },
    alike: { own: -0.008, peers: -0.305 },
    alikeInResults: { own: -0.065, peers: -0.131 },
    asKey: { own: -0.02, peers: -0.069 },
    plain: { own: 0, peers: -0.129 },
  },
};
