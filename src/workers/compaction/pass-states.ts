/** States of a pass and the facts that their actions bring. `pass-machine.ts` connects them. */
import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { SettledContext, SettleOutcome } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { ContextSource } from '../../domain/context.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { PassOutcome } from '../../domain/pass.ts';
import type {
  ClaimedPass,
  PassEndResult,
  PassLost,
  VersionCommitResult,
  VersionProposalResult,
} from '../../domain/ports/pass-store.ts';
import type { PassDeliveryResult } from '../../domain/ports/queue.ts';
import type { ApprovalRefusal, Edits, Proposal } from '../../domain/proposal.ts';
import type { Summary, Version } from '../../domain/version.ts';
import type { PassSnapshot, SnapshotResult } from './pass-snapshot.ts';
import type { RefusedVersion } from './settle-sendable.ts';

/** Sequences that may get a job: those of any plan, those of a plan made in this delivery, or none. */
export type Fanning =
  | {
      readonly plans: 'any' | 'new';
      /** Queue job that the pass parks under. */
      readonly job: string;
    }
  | { readonly plans: 'none' };

export type ReplanCause = 'reasons_added' | 'version_changed';
export type PassReview = NonNullable<ClaimedPass['review']>;
type Children = Extract<PassDeliveryResult, { readonly status: 'parked' }>['children'];

/** State that every step of one delivery carries on. */
export interface PassProgress {
  readonly fanning: Fanning;
  /** Reasons at the claim. A replan may add others. */
  readonly claimed: readonly Reason[];
  readonly replans: number;
  /** Last seq that was planned or settled. Later messages may need a pass of their own. */
  readonly head: number;
  /** Proposal that this delivery concludes. */
  readonly review: PassReview | undefined;
}

interface Working {
  readonly progress: PassProgress;
}

export interface Evaluated extends Working {
  readonly snapshot: PassSnapshot;
  /** Reasons that hold by the snapshot. */
  readonly reasons: readonly Reason[];
}

interface Planned extends Working {
  readonly plan: PassPlan;
}

export interface FannedOut extends Planned {
  /** Conversation that the plan was made for. */
  readonly conversation: ConversationState;
}

interface Reviewed extends Evaluated {
  readonly proposal: Proposal;
}

/** A context that was planned or settled over, for the shadow. */
export interface Measured {
  readonly source: ContextSource;
  readonly settled: SettledContext | undefined;
}

interface Settling extends Evaluated, Planned {
  readonly live: ContextSource;
}

interface Settled extends Evaluated, Planned {
  readonly settled: SettledContext;
  /** Context that was settled over, up to the head of the new version. */
  readonly source: ContextSource;
  /** Accepted summaries by key. The version may use fewer. */
  readonly texts: ReadonlyMap<string, Summary>;
}

/** Sizes of a pass that ended without a version. */
export interface PassSizes {
  readonly sequences?: number;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
}

interface States {
  evaluate: Working & { readonly why: 'claimed' | 'proposal_dropped' | ReplanCause };
  plan: Evaluated;
  record_plan: FannedOut;
  fan_out: FannedOut;
  park: Working & { readonly job: string; readonly children: Children; readonly sequences: number };
  rebase: Planned;
  settle: Settling;
  propose: Settled;
  commit: Settled;
  end: Evaluated & {
    readonly outcome: Exclude<PassOutcome, { kind: 'committed' | 'approved' | 'failed' }>;
    readonly sizes: PassSizes;
    readonly measured?: Measured;
  };
  fail: Evaluated & { readonly code: 'conflict' | 'invalid_context' };
  review: Working & { readonly review: PassReview };
  check_approval: Reviewed & { readonly edits: Edits };
  commit_approved: Reviewed;
  refuse_approval: Working & { readonly refusal: ApprovalRefusal };
  /** Final: the pass has ended, by this delivery. */
  ended: Working & {
    readonly outcome: PassOutcome['kind'];
    readonly snapshot: PassSnapshot;
    readonly measured?: Measured | undefined;
  };
  /** Final: the queue runs the children, then delivers the pass again. */
  parked: { readonly children: Children };
  /** Final: a proposal waits for a person, without a lease. */
  waiting: Working & { readonly proposed?: Measured & { readonly snapshot: PassSnapshot } };
  /** Final: the pass has another owner, has been ended from outside, or is erased. */
  lost: { readonly why: PassLost['status'] };
}

type FinalStep = 'ended' | 'parked' | 'waiting' | 'lost';
export type WorkStep = Exclude<keyof States, FinalStep>;
export type PassState<Step extends keyof States = keyof States> = {
  [Each in Step]: { readonly step: Each } & States[Each];
}[Step];
export type FinalState = PassState<FinalStep>;

/** Results of the actions. `gone`: the conversation was erased. */
export interface Facts {
  evaluate: SnapshotResult;
  plan:
    | { readonly status: 'planned'; readonly plan: PassPlan; readonly source: ContextSource }
    /** A model is in the middle of a thinking loop, which an edit would break. */
    | { readonly status: 'thinking' }
    | { readonly status: 'gone' };
  record_plan: { readonly status: 'recorded' } | PassLost;
  fan_out: { readonly missing: Children };
  park: { readonly status: 'parked' } | PassLost;
  rebase:
    | {
        readonly status: 'read';
        readonly snapshot: PassSnapshot;
        readonly live: ContextSource;
        /** The version that was planned over, if it is still kept. */
        readonly planned: Version | undefined;
      }
    | PassLost;
  settle:
    | {
        readonly status: 'settled';
        readonly settled: SettleOutcome | RefusedVersion;
        readonly source: ContextSource;
        readonly texts: ReadonlyMap<string, Summary>;
      }
    | { readonly status: 'thinking' }
    | { readonly status: 'version_changed' };
  propose: VersionProposalResult;
  commit: VersionCommitResult;
  end: PassEndResult;
  fail: PassEndResult;
  review: SnapshotResult;
  check_approval:
    | { readonly status: 'accepted'; readonly proposal: Proposal }
    | { readonly status: 'refused'; readonly refusal: ApprovalRefusal }
    | { readonly status: 'version_changed' }
    | { readonly status: 'gone' };
  commit_approved: VersionCommitResult;
  refuse_approval: { readonly status: 'refused' } | { readonly status: 'dropped' } | PassLost;
}
