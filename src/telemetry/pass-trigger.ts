import { REASONS, type Reason } from '../domain/compaction/thresholds.ts';

/** The less of a choice there was, the stronger: refused by the provider, over the hard limit, asked for, then the rest. */
const STRENGTH: Readonly<Record<Reason, number>> = {
  overflow: 8,
  hard_limit: 7,
  manual: 6,
  token_threshold: 5,
  ratio: 4,
  message_threshold: 3,
  turn_threshold: 2,
  turn_end: 1,
};

/**
 * The one reason that a pass is counted under. A label with every combination of reasons would have 256 values, and a count
 * for each reason would count a pass several times.
 */
export function findTrigger(reasons: readonly Reason[]): Reason | 'none' {
  const [strongest] = REASONS.filter((reason) => reasons.includes(reason)).toSorted(
    (a, b) => STRENGTH[b] - STRENGTH[a],
  );
  return strongest ?? 'none';
}
