import type { UseWeights } from '../../src/compaction/evidence/use-features.ts';

/** Data and figures of the fit that gave a table. */
export interface Provenance {
  readonly recordings: string;
  readonly conversations: number;
  readonly cuts: number;
  readonly terms: number;
  readonly used: number;
  readonly l2: number;
  /** Mean rank score of tables that were fitted without the family, or the group, on which they are scored. */
  readonly aucByFamily: number;
  readonly aucByGroup: number;
  readonly aucByHand: number;
}

/** End of a statement. */
const END = ';';

/** Text of `src/compaction/evidence/use-weights.ts`. */
export function writeTable({ bias, features }: UseWeights, from: Provenance): string {
  return [
    `import type { UseWeights } from './use-features.ts'${END}`,
    '',
    '/**',
    ' * Written by `node scripts/fit-use-weights.ts`. Do not edit.',
    ' *',
    ` * - Recordings: ${from.conversations} conversations, digest ${from.recordings}, cut at ${from.cuts} places.`,
    ` * - Terms: ${from.terms}, of which the agent used ${from.used} in the next 40 messages.`,
    ` * - Fit: logistic regression, L2 ${from.l2}.`,
    ` * - AUC within a cut, on a family that the table was not fitted on: ${from.aucByFamily}.`,
    ` * - AUC within a cut, on a group that the table was not fitted on: ${from.aucByGroup}.`,
    ` * - AUC within a cut of weights set by hand: ${from.aucByHand}.`,
    ' */',
    'export const USE_WEIGHTS: UseWeights = {',
    `  bias: ${bias},`,
    '  features: {',
    ...Object.entries(features).map(([name, { own, peers }]) => `    ${name}: { own: ${own}, peers: ${peers} },`),
    '  },',
    `}${END}`,
    '',
  ].join('\n');
}
