/** States of a pass, and facts that their actions return. `pass-machine.ts` has the transitions. */

import type { SettledContext, SettleOutcome } from '../../compaction/settle.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { PassOutcome, Reason } from '../../domain/pass.ts';
import type { PassPlan } from '../../domain/pass-plan.ts';
import type { ApprovalRefusal, Edits, Proposal } from '../../domain/proposal.ts';
import type { Summary, Version } from '../../domain/version.ts';
import type { PassDeliveryResult } from '../../jobs/ports.ts';
import type { PassEndResult, VersionCommitResult } from '../../store/pass-ends.ts';
import type { ClaimedPass, PassLost } from '../../store/pass-record.ts';
import type { VersionProposalResult } from '../../store/proposals.ts';
import type { PassSnapshot, SnapshotResult } from './pass-snapshot.ts';
import type { RefusedVersion } from './plan-and-settle.ts';

/**
 * Says when a delivery may create child jobs. `for_new_plan`: only for plans of this delivery, because the child jobs of
 * the stored plan have ended. `never`: on the last attempt, and in a turn that compacts by itself.
 */
export type ChildJobs =
  | {
      readonly may: 'always' | 'for_new_plan';
      readonly job: string;
    }
  | { readonly may: 'never' };

export type ReplanCause = 'reasons_added' | 'version_changed';
export type PassReview = NonNullable<ClaimedPass['review']>;
type Children = Extract<PassDeliveryResult, { readonly status: 'parked' }>['children'];

export interface PassProgress {
  readonly childJobs: ChildJobs;
  /** Reasons of the pass when the worker claimed it. A new plan can add reasons. */
  readonly claimedReasons: readonly Reason[];
  readonly replans: number;
  /** Seq of the last message that was planned or settled. Later messages may need another pass. */
  readonly head: number;
  /** The proposal that a person decided on, if this delivery carries the decision out. */
  readonly review: PassReview | undefined;
}

interface Working {
  readonly progress: PassProgress;
}

export interface Evaluated extends Working {
  readonly snapshot: PassSnapshot;
  readonly reasons: readonly Reason[];
}

interface Planned extends Working {
  readonly plan: PassPlan;
}

/** A plan with the state of its conversation, which decides on the summarizer, and so on the keys of the summaries. */
export interface Summarizing extends Planned {
  readonly conversation: ConversationState;
}

interface Reviewed extends Evaluated {
  readonly proposal: Proposal;
}

/** Facts of a live pass with which the shadow policy is measured over the same context. */
export interface Measured {
  readonly source: ContextSource;
  readonly settled: SettledContext | undefined;
}

interface Settling extends Evaluated, Planned {
  readonly live: ContextSource;
}

interface Settled extends Evaluated, Planned {
  readonly settled: SettledContext;
  /** The context before the pass, up to the last message that the version covers. */
  readonly source: ContextSource;
  /** Summaries by summary key. The version may use only some of them. */
  readonly texts: ReadonlyMap<string, Summary>;
}

interface PassSizes {
  readonly sequences?: number;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
}

interface States {
  evaluate: Working & { readonly why: 'claimed' | 'proposal_dropped' | ReplanCause };
  plan: Evaluated;
  record_plan: Summarizing;
  find_missing: Summarizing;
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
  ended: Working & {
    readonly outcome: PassOutcome['kind'];
    readonly snapshot: PassSnapshot;
    readonly measured?: Measured | undefined;
  };
  /** Final state: the queue runs the child jobs, and then delivers the pass again. */
  parked: { readonly children: Children };
  /** Final state: a proposal waits for a person. The pass has no lease meanwhile. */
  waiting: Working & { readonly proposed?: Measured & { readonly snapshot: PassSnapshot } };
  /** Final state: another owner has the pass, the pass was ended, or the conversation was erased. */
  lost: { readonly why: PassLost['status'] };
}

type FinalStateName = 'ended' | 'parked' | 'waiting' | 'lost';
export type ActivePassStateName = Exclude<keyof States, FinalStateName>;
export type PassState<Name extends keyof States = keyof States> = {
  [Each in Name]: { readonly name: Each } & States[Each];
}[Name];
export type FinalState = PassState<FinalStateName>;

/** Facts that the action of each state returns. `gone`: the conversation was erased. */
export interface PassFacts {
  evaluate: SnapshotResult;
  plan:
    | { readonly status: 'planned'; readonly plan: PassPlan; readonly source: ContextSource }
    /** No plan is made: a change of the context would invalidate the thinking of a model that has not answered yet. */
    | { readonly status: 'thinking' }
    | { readonly status: 'gone' };
  record_plan: { readonly status: 'recorded' } | PassLost;
  find_missing: { readonly missing: Children };
  park: { readonly status: 'parked' } | PassLost;
  rebase:
    | {
        readonly status: 'read';
        readonly snapshot: PassSnapshot;
        readonly live: ContextSource;
        /** Version on which the plan is based, if the store still keeps it. */
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
