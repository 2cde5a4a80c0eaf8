import { backOffAppends, nextBackoff } from '../../compaction/backoff.ts';
import type { Backoff } from '../../domain/conversation.ts';
import type { PassOutcome } from '../../domain/pass.ts';
import { contextSize, NO_OVERHEAD, type SizeRecord } from '../../domain/size.ts';
import type { Version } from '../../domain/version.ts';
import type { PassSnapshot } from './pass-snapshot.ts';

/**
 * Computes the backoff of a conversation after a compaction pass.
 * @param version the new version, if the pass made one
 */
export function backoffAfter(
  { state, prepared }: Pick<PassSnapshot, 'state' | 'prepared'>,
  outcome: PassOutcome,
  version?: Version,
): Backoff {
  const { policy, limits, overhead } = prepared;
  // A new version has no provider's count yet, so its size is turnfold's own count.
  const size = version === undefined ? state.size : sizeOf(version);
  const { tokens } = contextSize(size, overhead);
  const { tokens: messageTokens } = contextSize(size, NO_OVERHEAD);
  const { calibration } = overhead;
  const { hardTokens } = limits;
  const softTokens = Math.min(...[limits.tokenThreshold, limits.ratioTokens].filter((limit) => limit !== undefined));
  const next = nextBackoff(state.backoff, outcome, { tokens, stepTokens: policy.minSequenceTokens, softTokens });
  return backOffAppends(next, { tokens, messageTokens, calibration, hardTokens });
}

/** Size of a version without the messages behind it. */
function sizeOf({ number, weight, baseTotal }: Version): SizeRecord {
  return { version: number, weight, baseTotal, headTotal: baseTotal };
}
