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

/** Proof that a worker owns a compaction pass. Every write of the pass must carry it (invariant I4). */
export interface PassLease {
  readonly conversation: ConversationRef;
  readonly passId: string;
  readonly owner: string;
}

/** Why a worker no longer owns its compaction pass. After this answer the worker must not write any more. */
export type PassLost =
  /** The lease expired and another worker claimed the pass, or the conversation was erased and created again. */
  | { readonly status: 'fenced' }
  /** A restored version ended the compaction pass, or a turn took it over. */
  | { readonly status: 'superseded' }
  /** The conversation was erased. */
  | { readonly status: 'gone' }
  /** The conversation does not exist and was not erased: the database was emptied, restored or replaced. */
  | { readonly status: 'unclaimed' };

/**
 * Request for a compaction pass. A hard reason means that a turn must wait for compaction. A hard reason removes a
 * proposal that awaits a decision, and the pass commits without approval.
 */
export interface PassRequest {
  readonly conversation: ConversationRef;
  readonly reasons: readonly Reason[];
  /**
   * Upper bound in tokens of a request that the provider refused as too long, with the reason `overflow`. Later
   * requests can only lower the value.
   */
  readonly refusedTokens?: number | undefined;
  /**
   * Correction factor for token counts that the requester used, if it counted tokens. Later requests can only raise the
   * value.
   */
  readonly calibration?: number | undefined;
  /** Id for the new compaction pass. Unused if a pass is already in progress. */
  readonly passId: string;
  /** Id of the queue job to add if the answer has `needsWake`. */
  readonly wake: string;
}

export type PassRequestResult =
  /** `joined`: a compaction pass was already in progress and received the reasons. */
  | { readonly status: 'requested' | 'joined'; readonly passId: string; readonly needsWake: boolean }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

/** A compaction pass with everything that its worker needs to continue. */
export interface ClaimedPass {
  readonly lease: PassLease;
  readonly reasons: readonly Reason[];
  /**
   * Number of claims of this pass by workers, including this one. When the first plan is stored, the count restarts at
   * 1.
   */
  readonly attempt: number;
  readonly requestedAt: number;
  readonly conversation: ConversationState;
  /**
   * True if this job started the summarization jobs of the compaction pass and now claims the pass again. Their results
   * then belong to the pass.
   */
  readonly isResumed: boolean;
  readonly plan?: PassPlan;
  /** The proposal of this compaction pass. If it has no verdict, the time for a decision has passed. */
  readonly review?: { readonly proposal: Proposal; readonly verdict?: Verdict };
}

export type PassClaimResult =
  | { readonly status: 'claimed'; readonly pass: ClaimedPass }
  | { readonly status: 'empty' | 'gone' }
  /** Another worker owns the compaction pass, or the pass waits for summarization jobs of another queue job. */
  | { readonly status: 'leased'; readonly untilMs: number }
  /** The compaction pass failed because its attempts are used up. `wakeTurn` is used as in `endPass`. */
  | { readonly status: 'failed'; readonly passId: string; readonly wakeTurn?: string };

/** Current reasons to compact of a compaction pass. Requests may have added some since a worker claimed it. */
export interface PassReasons {
  readonly status: 'current';
  readonly reasons: readonly Reason[];
  /** The smallest refused size and the largest correction factor of all requests. */
  readonly refusedTokens?: number;
  readonly calibration?: number;
}

/** Ends a compaction pass without a new version. */
export interface PassEnd extends IdleTtl {
  readonly outcome: PassOutcome;
  /**
   * Reasons that the worker has considered. If a request has added others since, nothing is written and the answer is
   * `reasons_added`. Absent: no check.
   */
  readonly seenReasons?: readonly Reason[];
  readonly backoff: Backoff;
  /**
   * Id of a queue job that wakes the turn. If a turn waited for this compaction pass, the job's id is stored and
   * returned, and the worker adds the job.
   */
  readonly wakeTurn: string;
}

export type PassEndResult =
  /** If `wakeTurn` is present, the worker adds that job to the queue. */
  { readonly status: 'ended'; readonly wakeTurn?: string } | { readonly status: 'reasons_added' } | PassLost;

/** Ends a compaction pass with a new version. */
export interface VersionCommit extends PassEnd, KeptTexts {
  /**
   * Version on which the new one is based. If it is no longer the current one, nothing is written and the answer is
   * `version_changed`.
   */
  readonly expectedVersion: number;
  readonly version: Version;
  /** Number of older versions to keep, in addition to restore points. */
  readonly keepVersions: number;
}

/** A version that is committed only after a person approves it. */
export interface VersionProposal {
  readonly proposal: Proposal;
  /** Reasons that the worker has considered, as in `PassEnd`. */
  readonly seenReasons: readonly Reason[];
  readonly reviewMs: number;
}

export type VersionProposalResult =
  | { readonly status: 'proposed' }
  | { readonly status: 'reasons_added' }
  | { readonly status: 'version_changed'; readonly version: number }
  | PassLost;

export type VersionCommitResult = PassEndResult | { readonly status: 'version_changed'; readonly version: number };

/** Requests compaction passes, for turn workers and client calls. */
export interface PassIntake {
  requestPass(request: PassRequest): Promise<Acknowledged<PassRequestResult>>;
}

/** Stores compaction passes, for compaction workers. Every write names its pass (invariant I4). */
export interface PassStore extends PassIntake {
  /**
   * Claims the compaction pass of a conversation for a worker.
   * @param job the worker's queue job. If the pass waits for summarization jobs, only their parent job may claim it
   * @param wakeTurn id of a queue job, stored and returned if the pass fails now and a turn waited for it
   */
  claimPass(conversation: ConversationRef, owner: string, job: string, wakeTurn: string): Promise<PassClaimResult>;
  /**
   * Takes the compaction pass over under a new id, even if a worker owns it. A turn does this when its wait times out.
   * The answer `empty` means that the pass has ended meanwhile.
   */
  takeOverPass(conversation: ConversationRef, owner: string, passId: string): Promise<PassClaimResult>;
  heartbeatPass(lease: PassLease): Promise<{ readonly status: 'renewed' } | PassLost>;
  /** Reads the current reasons for the compaction pass. Requests may have added some since the claim. */
  readReasons(lease: PassLease): Promise<PassReasons | PassLost>;
  /** Stores the plan of the compaction pass. The first plan restarts the count of attempts at 1. */
  recordPlan(lease: PassLease, plan: PassPlan): Promise<{ readonly status: 'recorded' } | PassLost>;
  /**
   * Gives up the lease while summarization jobs run. For `parkMs`, only the queue job `job` may claim the pass again.
   */
  parkPass(lease: PassLease, job: string, parkMs: number): Promise<{ readonly status: 'parked' } | PassLost>;
  /**
   * Hands the compaction pass back when its worker shuts down. The claim then does not count as an attempt (invariant
   * I9).
   */
  releasePass(lease: PassLease): Promise<{ readonly status: 'released' } | PassLost>;
  endPass(lease: PassLease, end: PassEnd): Promise<PassEndResult>;
  commitVersion(lease: PassLease, commit: VersionCommit): Promise<VersionCommitResult>;
  /**
   * Stores a proposal and gives up the lease. The compaction pass can be claimed again after a decision, after the
   * proposal expires, or after a hard reason removes it.
   */
  proposeVersion(lease: PassLease, proposal: VersionProposal): Promise<VersionProposalResult>;
  /**
   * Records that an approval could not be carried out. The proposal stays open. The answer `dropped` means that it was
   * removed meanwhile.
   */
  refuseApproval(
    lease: PassLease,
    refusal: ApprovalRefusal,
  ): Promise<{ readonly status: 'refused' | 'dropped' } | PassLost>;
}
