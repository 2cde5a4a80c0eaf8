import type { PassPlan } from '../domain/compaction/plan.ts';
import type { Reason } from '../domain/compaction/thresholds.ts';
import type { Proposal, Verdict } from '../domain/proposal.ts';

/** Record of one compaction pass. Redis stores it in the hash `pass:<id>`. */
export interface MemoryPass {
  passId: string;
  reasons: Reason[];
  refusedTokens?: number | undefined;
  calibration?: number | undefined;
  wake?: string;
  attempts: number;
  owner?: string | undefined;
  leaseUntil?: number | undefined;
  requestedAt: number;
  plan?: PassPlan | undefined;
  isResumed?: boolean;
  parked?: { readonly job: string; readonly by: string; readonly untilMs: number } | undefined;
  /** Worker that handed the pass back when it stopped. Removed at the next claim of the pass. */
  releasedBy?: string | undefined;
  review?: MemoryReview | undefined;
}

export interface MemoryReview {
  readonly proposal: Proposal;
  readonly proposedAt: number;
  readonly expiresAt: number;
  decision?: { readonly operation: string; readonly verdict: Verdict } | undefined;
}
