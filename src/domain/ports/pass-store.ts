import type { PassPlan } from '../compaction/plan.ts';
import type { Reason } from '../compaction/thresholds.ts';
import type { Backoff, ConversationState } from '../conversation.ts';
import type { Acknowledged } from '../durability.ts';
import type { ConversationRef } from '../ids.ts';
import type { PassOutcome } from '../pass.ts';
import type { IdleTtl } from '../policy.ts';
import type { ApprovalRefusal, Proposal, Verdict } from '../proposal.ts';
import type { Version } from '../version.ts';
import type { Forking, KeptTexts } from './version-store.ts';

/** Proof that a worker owns a pass. Every write of the pass carries it (I4). */
export interface PassLease {
  readonly conversation: ConversationRef;
  readonly passId: string;
  readonly owner: string;
}

/** Why a worker no longer owns its pass. It may write nothing more. */
export type PassLost =
  /** The lease expired and another worker claimed the pass, or the conversation was created again. */
  | { readonly status: 'fenced' }
  /** A restore ended the pass, or a turn took it over under another id. */
  | { readonly status: 'superseded' }
  /** The conversation was erased. */
  | { readonly status: 'gone' };

/** A request for a pass. A hard reason removes a waiting proposal, and the pass commits without approval. */
export interface PassRequest {
  readonly conversation: ConversationRef;
  readonly reasons: readonly Reason[];
  /**
   * Upper bound in tokens of a request that the provider refused, with reason `overflow`. The smallest value is kept.
   */
  readonly refusedTokens?: number | undefined;
  /** Calibration by which the requester counts, if it counts. The largest value is kept. */
  readonly calibration?: number | undefined;
  /** Id of the pass, if none is in progress. */
  readonly passId: string;
  /** Id of the wake that is recorded if one is needed. */
  readonly wake: string;
}

export type PassRequestResult =
  /** `joined`: the reasons were added to the pass in progress. */
  | { readonly status: 'requested' | 'joined'; readonly passId: string; readonly needsWake: boolean }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

/** A pass with everything that its owner needs to continue. */
export interface ClaimedPass {
  readonly lease: PassLease;
  readonly reasons: readonly Reason[];
  /** Claims so far, this one included. The first plan restarts the count at the claim that made it. */
  readonly attempt: number;
  readonly requestedAt: number;
  readonly conversation: ConversationState;
  /**
   * True if the pass was parked under the job that claims it. The results of that job's children belong to this pass.
   */
  readonly isResumed: boolean;
  readonly plan?: PassPlan;
  /** Proposal of the pass. Without a verdict, the time for a decision has passed. */
  readonly review?: { readonly proposal: Proposal; readonly verdict?: Verdict };
}

export type PassClaimResult =
  | { readonly status: 'claimed'; readonly pass: ClaimedPass }
  | { readonly status: 'empty' | 'gone' }
  /** Another worker owns the pass, or the pass is parked under another job. */
  | { readonly status: 'held'; readonly untilMs: number }
  /** The attempts are used up, and the pass ended as failed. `wakeTurn` is used as for `endPass`. */
  | { readonly status: 'failed'; readonly passId: string; readonly wakeTurn?: string };

/** Current reasons of a pass, as its owner reads them. */
export interface PassReasons {
  readonly status: 'held';
  readonly reasons: readonly Reason[];
  /** Values of the requests. */
  readonly refusedTokens?: number;
  readonly calibration?: number;
}

/** End of a pass without a version. */
export interface PassEnd extends IdleTtl {
  readonly outcome: PassOutcome;
  /**
   * Reasons that the owner has seen. If others were added since, the answer is `reasons_added` and nothing is written.
   * Absent: no such check.
   */
  readonly seenReasons?: readonly Reason[];
  readonly backoff: Backoff;
  /** Id of a turn wake. It is recorded and answered if a turn waited for this pass. */
  readonly wakeTurn: string;
}

export type PassEndResult =
  /** The caller adds the wake `wakeTurn` to the queue. */
  { readonly status: 'ended'; readonly wakeTurn?: string } | { readonly status: 'reasons_added' } | PassLost;

/** End of a pass with a new version. */
export interface VersionCommit extends PassEnd, KeptTexts {
  /**
   * Live version under which this one was made. If another is live, the answer is `version_changed` and nothing is
   * written.
   */
  readonly expectedVersion: number;
  readonly version: Version;
  /** Versions that are kept besides restore points. */
  readonly keepVersions: number;
}

/** A version that is committed only after a person approves it. */
export interface VersionProposal {
  readonly proposal: Proposal;
  /** Reasons that the owner has seen, as for `PassEnd`. */
  readonly seenReasons: readonly Reason[];
  readonly reviewMs: number;
}

export type VersionProposalResult =
  | { readonly status: 'proposed' }
  | { readonly status: 'reasons_added' }
  | { readonly status: 'version_changed'; readonly version: number }
  | PassLost;

export type VersionCommitResult = PassEndResult | { readonly status: 'version_changed'; readonly version: number };

/** Requests of passes, for turn workers and clients. */
export interface PassIntake {
  requestPass(request: PassRequest): Promise<Acknowledged<PassRequestResult>>;
}

/** Passes, for compaction workers. Every write names its pass (I4). */
export interface PassStore extends PassIntake {
  /**
   * Claims the pass of a conversation.
   * @param job queue job of the caller. Only the job under which a pass is parked may claim it
   * @param wakeTurn id of a turn wake, recorded and answered if a turn waited for a pass that failed
   */
  claimPass(conversation: ConversationRef, owner: string, job: string, wakeTurn: string): Promise<PassClaimResult>;
  /**
   * Takes over the pass in progress under a new id, even if a worker owns it. A turn does this after the deadline of
   * its wait. `empty`: the pass has ended meanwhile.
   */
  takeOverPass(conversation: ConversationRef, owner: string, passId: string): Promise<PassClaimResult>;
  heartbeatPass(lease: PassLease): Promise<{ readonly status: 'held' } | PassLost>;
  /** Reads the current reasons. Requests may have added some since the claim. */
  readReasons(lease: PassLease): Promise<PassReasons | PassLost>;
  /** Stores the plan. The first plan sets the attempts to 1. */
  recordPlan(lease: PassLease, plan: PassPlan): Promise<{ readonly status: 'recorded' } | PassLost>;
  /** Gives the lease back. For `parkMs` only `job` may claim the pass. */
  parkPass(lease: PassLease, job: string, parkMs: number): Promise<{ readonly status: 'parked' } | PassLost>;
  /** Hands the pass back when a worker stops. The claim does not count as an attempt (I9). */
  releasePass(lease: PassLease): Promise<{ readonly status: 'released' } | PassLost>;
  endPass(lease: PassLease, end: PassEnd): Promise<PassEndResult>;
  commitVersion(lease: PassLease, commit: VersionCommit): Promise<VersionCommitResult>;
  /**
   * Stores a proposal and gives the lease back. The pass can be claimed again after a decision, after its expiry, or
   * after a hard reason removed the proposal.
   */
  proposeVersion(lease: PassLease, proposal: VersionProposal): Promise<VersionProposalResult>;
  /** Answers an approval that cannot be carried out. The proposal stays open. `dropped`: it was removed meanwhile. */
  refuseApproval(
    lease: PassLease,
    refusal: ApprovalRefusal,
  ): Promise<{ readonly status: 'refused' | 'dropped' } | PassLost>;
}
