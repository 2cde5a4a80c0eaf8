import type { PassPlan } from '../compaction/plan.ts';
import type { Reason } from '../compaction/thresholds.ts';
import type { Backoff, ConversationState } from '../conversation.ts';
import type { Told } from '../durability.ts';
import type { IdleTtl } from '../idle-ttl.ts';
import type { ConversationRef } from '../ids.ts';
import type { PassOutcome } from '../pass.ts';
import type { ApprovalRefusal, Proposal, Verdict } from '../proposal.ts';
import type { Version } from '../version.ts';
import type { Forking, KeptTexts } from './version-store.ts';

/** Proof of ownership that every write of a pass carries. */
export interface PassLease {
  readonly conversation: ConversationRef;
  readonly passId: string;
  readonly owner: string;
}

export type PassLost =
  /** the lease lapsed, and another owner has claimed the pass since, whatever came of it; or the conversation was made anew */
  | { readonly status: 'fenced' }
  /** a restore ended the pass while this owner had it, or a turn took it over under another id */
  | { readonly status: 'superseded' }
  /** its conversation is erased */
  | { readonly status: 'gone' };

/** Where one of `reasons` is hard, a proposal that waits is taken away, and the pass commits without approval. */
export interface PassRequest {
  readonly conversation: ConversationRef;
  readonly reasons: readonly Reason[];
  /** with `overflow`: upper bound in tokens of the request that was refused; of several the smallest is kept */
  readonly refusedTokens?: number | undefined;
  /** by which whoever asks counts, where it does; of several the largest is kept */
  readonly calibration?: number | undefined;
  /** id of the pass where none is in progress */
  readonly passId: string;
  /** id of the wake to be recorded where one is needed */
  readonly wake: string;
}

export type PassRequestResult =
  /** `joined`: the reasons were added to the pass in progress */
  | { readonly status: 'requested' | 'joined'; readonly passId: string; readonly needsWake: boolean }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

export interface ClaimedPass {
  readonly lease: PassLease;
  readonly reasons: readonly Reason[];
  /** claims so far, this one included; once there is a plan, those since the claim that made the first one, with it */
  readonly attempt: number;
  readonly requestedAt: number;
  readonly conversation: ConversationState;
  /** it was parked under the very job that claims it now: what that job's children brought is this pass's */
  readonly isResumed: boolean;
  /** as given to `recordPlan` */
  readonly plan?: PassPlan;
  /** it has proposed this; without a verdict nobody has decided in time */
  readonly review?: { readonly proposal: Proposal; readonly verdict?: Verdict };
}

export type PassClaimResult =
  | { readonly status: 'claimed'; readonly pass: ClaimedPass }
  | { readonly status: 'empty' | 'gone' }
  /** another owner works on it, or it is parked on its children under another job */
  | { readonly status: 'held'; readonly untilMs: number }
  /** too many attempts: ended as failed; `wakeTurn` as for `endPass` */
  | { readonly status: 'failed'; readonly passId: string; readonly wakeTurn?: string };

export interface PassReasons {
  readonly status: 'held';
  readonly reasons: readonly Reason[];
  /** as requested */
  readonly refusedTokens?: number;
  readonly calibration?: number;
}

export interface PassEnd extends IdleTtl {
  readonly outcome: PassOutcome;
  /** as they were read: where others were added since, `reasons_added` is answered and nothing written. Absent: whatever they are */
  readonly seenReasons?: readonly Reason[];
  readonly backoff: Backoff;
  /** id of a turn wake, recorded and answered where a turn waited for this pass */
  readonly wakeTurn: string;
}

export type PassEndResult =
  | { readonly status: 'ended' /** to be added */; readonly wakeTurn?: string }
  | { readonly status: 'reasons_added' }
  | PassLost;

export interface VersionCommit extends PassEnd, KeptTexts {
  /** the live version that this one was made over; another one answers `version_changed` and writes nothing */
  readonly expectedVersion: number;
  readonly version: Version;
  /** versions kept besides restore points */
  readonly keepVersions: number;
}

/** A version that is not committed before somebody approves of it. */
export interface VersionProposal {
  readonly proposal: Proposal;
  /** as with `PassEnd` */
  readonly seenReasons: readonly Reason[];
  /** how long it waits */
  readonly reviewMs: number;
}

export type VersionProposalResult =
  | { readonly status: 'proposed' }
  | { readonly status: 'reasons_added' }
  | { readonly status: 'version_changed'; readonly version: number }
  | PassLost;

export type VersionCommitResult = PassEndResult | { readonly status: 'version_changed'; readonly version: number };

/** What asks for passes: turn workers, clients. */
export interface PassIntake {
  requestPass(request: PassRequest): Promise<Told<PassRequestResult>>;
}

/** What a compaction worker needs. Every write names the pass that it is for. */
export interface PassStore extends PassIntake {
  /** @param job the queue job that asks: the only one that may claim a pass parked under it */
  claimPass(conversation: ConversationRef, owner: string, job: string, wakeTurn: string): Promise<PassClaimResult>;
  /**
   * Takes the pass in progress over under a new id, whoever holds it: for a turn whose wait for it is past its deadline.
   * `empty`: it has ended meanwhile.
   */
  takeOverPass(conversation: ConversationRef, owner: string, passId: string): Promise<PassClaimResult>;
  heartbeatPass(lease: PassLease): Promise<{ readonly status: 'held' } | PassLost>;
  /** the reasons as they stand now: others may have been added since the claim */
  readReasons(lease: PassLease): Promise<PassReasons | PassLost>;
  /** keeps the plan; the first one sets the attempts to 1 */
  recordPlan(lease: PassLease, plan: PassPlan): Promise<{ readonly status: 'recorded' } | PassLost>;
  /** gives the lease back; for `parkMs` from now only `job` may claim */
  parkPass(lease: PassLease, job: string, parkMs: number): Promise<{ readonly status: 'parked' } | PassLost>;
  /** hands the pass back at a stop: the claim counts as no attempt */
  releasePass(lease: PassLease): Promise<{ readonly status: 'released' } | PassLost>;
  endPass(lease: PassLease, end: PassEnd): Promise<PassEndResult>;
  commitVersion(lease: PassLease, commit: VersionCommit): Promise<VersionCommitResult>;
  /**
   * keeps a proposal and gives the lease back; until it expires nobody may claim the pass but after a decision, or after a
   * hard reason has taken it away
   */
  proposeVersion(lease: PassLease, proposal: VersionProposal): Promise<VersionProposalResult>;
  /** answers an approval that cannot be carried out; the proposal waits on. `dropped`: it was taken away meanwhile */
  refuseApproval(
    lease: PassLease,
    refusal: ApprovalRefusal,
  ): Promise<{ readonly status: 'refused' | 'dropped' } | PassLost>;
}
