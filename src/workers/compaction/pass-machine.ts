/**
 * One pass (compaction) as a state machine. `nextPassState` is pure: it derives the next state from a state and the
 * facts that the action of this state read or wrote. `pass-states.ts` has their types. `pass-delivery.ts` claims a pass
 * and runs the loop: act, next state, act, until a final state.
 *
 * ```
 *  evaluate ──► plan ──► record_plan ──► find_missing ──► park ══► children
 *      ▲         │                          │
 *      │         │ evict, trim              │ no summary is missing
 *    replan      ▼                          ▼
 *      │◄───── rebase ◄─────────────────────┘
 *      │         │
 *      │◄───── settle
 *      │         │
 *      └◄───── commit | propose | end
 * ```
 *
 * - `evaluate`: Do the reasons to compact still hold? If not: `end`.
 * - `plan`: Is anything to be done? If not: `end`.
 * - `record_plan`: writes the plan, before any summary is paid for.
 * - `find_missing`: each sequence without a summary becomes a child of the queue job.
 * - `park`: gives the lease back until the children have ended.
 * - `rebase`: Does the plan fit the live version? If not: replan.
 * - `settle`: makes the next context from plan and summaries. If it breaks a rule: `fail`.
 * - `commit` writes the version, `propose` a proposal for a person to review, `end` neither.
 *
 * A delivery starts where the delivery before it stopped:
 *
 * ```
 * the claimed pass has                                                 first state
 * no plan                                                              evaluate
 * a plan, but its children belong to another job or may be lost        find_missing
 * a plan, and the children of this job have ended                      rebase
 * a plan, on the last attempt, or because a waiting turn took it over  rebase
 * a proposal                                                           review
 * ```
 *
 * Thinking: while a model thinks between its calls and its answer, an edit would void that thinking. `plan` and
 * `settle` then go to `end` with outcome `thinking`, unless a reason is hard.
 *
 * Replan: the pass goes back to `evaluate`, or to `review` with its proposal. After five replans: `fail`. Four causes:
 *
 * ```
 * state                                    cause
 * rebase                                   the live version has other segments where the plan replaces some
 * settle, check_approval                   another version went live after the state was read
 * commit, commit_approved, propose         the write found another live version, and changed nothing
 * commit, commit_approved, propose, end    the write found reasons that were added, and changed nothing
 * ```
 *
 * A hard reason or another live version drops the proposal under review. The pass continues at `evaluate`.
 *
 * ```
 * review ──► end (rejected, expired)
 *    └─────► check_approval ──► commit_approved
 *                   └─────────► refuse_approval (the proposal waits on)
 * ```
 *
 * Final states: `ended`, `parked` until the children have ended, `waiting` for a person, `lost` to another owner.
 */

import { canRebase } from '../../compaction/rebase.ts';
import { hasHardReason, PASS_LIMITS, type PassOutcome, REASONS, type Reason } from '../../domain/pass.ts';
import type { PassPlan } from '../../domain/pass-plan.ts';
import type { Version } from '../../domain/version.ts';
import type { VersionCommitResult } from '../../store/pass-ends.ts';
import type { ClaimedPass, PassLost } from '../../store/pass-record.ts';
import { evaluateRequest, type PassSnapshot } from './pass-snapshot.ts';
import type {
  ActivePassStateName,
  ChildJobs,
  Evaluated,
  FinalState,
  Measured,
  PassFacts,
  PassProgress,
  PassReview,
  PassState,
  ReplanCause,
  Summarizing,
} from './pass-states.ts';

/** Number of times that one delivery plans again. After these, the pass fails with code `conflict`. */
const MAX_REPLANS = 5;

export function startPass(pass: ClaimedPass, childJobs: ChildJobs): PassState<ActivePassStateName> {
  const { review, plan } = pass;
  const progress = { childJobs, claimedReasons: pass.reasons, replans: 0, head: pass.conversation.head, review };
  if (review !== undefined) return { name: 'review', progress, review };
  if (plan === undefined) return { name: 'evaluate', progress, why: 'claimed' };
  return continueWithPlan({ progress, plan, conversation: pass.conversation }, childJobs.may === 'always');
}

/** Decides which plans may create child jobs. Lost child jobs are created once more, except on the last attempt. */
export function chooseChildJobs(
  { attempt, isResumed }: Pick<ClaimedPass, 'attempt' | 'isResumed'>,
  job: string,
  haveChildrenEnded: boolean,
): ChildJobs {
  if (attempt >= PASS_LIMITS.maxAttempts) return { may: 'never' };
  return { may: haveChildrenEnded && isResumed ? 'for_new_plan' : 'always', job };
}

export function nextPassState<Name extends ActivePassStateName>(
  state: PassState<Name>,
  facts: PassFacts[Name],
): PassState {
  return TRANSITIONS[state.name](state, facts);
}

export function isFinal(state: PassState): state is FinalState {
  return state.name === 'ended' || state.name === 'parked' || state.name === 'waiting' || state.name === 'lost';
}

const TRANSITIONS: {
  readonly [Name in ActivePassStateName]: (state: PassState<Name>, facts: PassFacts[Name]) => PassState;
} = {
  evaluate: ({ progress }, facts) => {
    if (facts.status !== 'read') return lose(facts);
    const { snapshot } = facts;
    const reasons = evaluateRequest(snapshot.prepared, snapshot.state, snapshot.requested);
    if (reasons.length > 0) return { name: 'plan', progress, snapshot, reasons };
    return { name: 'end', progress, snapshot, reasons, outcome: { kind: 'no_reason' }, sizes: {} };
  },
  plan: ({ progress, snapshot, reasons }, facts) => {
    if (facts.status === 'gone') return lose({ status: 'gone' });
    const ending = { name: 'end', progress, snapshot, reasons, sizes: {} } as const;
    if (facts.status === 'thinking') return { ...ending, outcome: { kind: 'thinking' } };
    const { plan, source } = facts;
    const planned = { progress, plan, conversation: snapshot.state };
    if (plan.kind === 'summarize') return { name: 'record_plan', ...planned };
    if (plan.kind === 'evict' || plan.kind === 'trim') return continueWithPlan(planned);
    const kind = plan.explained.includes('no_gain') ? 'no_gain' : plan.kind;
    return { ...ending, outcome: { kind }, measured: { source, settled: undefined } };
  },
  record_plan: (state, facts) => (facts.status === 'recorded' ? continueWithPlan(state) : lose(facts)),
  find_missing: ({ progress, plan }, { missing }) => {
    const { childJobs } = progress;
    if (missing.length === 0 || childJobs.may === 'never') return { name: 'rebase', progress, plan };
    return { name: 'park', progress, job: childJobs.job, children: missing, sequences: plan.sequences.length };
  },
  park: ({ children }, facts) => (facts.status === 'parked' ? { name: 'parked', children } : lose(facts)),
  rebase: ({ progress, plan }, facts) => {
    if (facts.status !== 'read') return lose(facts);
    const { snapshot, live, planned } = facts;
    if (!fits(plan, planned, live.version)) return replan({ progress, snapshot }, 'version_changed');
    const { prepared, state, requested } = snapshot;
    const reasons = joinReasons(plan.reasons, evaluateRequest(prepared, state, requested));
    return { name: 'settle', progress, snapshot, reasons, plan, live };
  },
  settle: (state, facts) => {
    const { progress, snapshot, reasons, plan } = state;
    const evaluated = { progress, snapshot, reasons };
    switch (facts.status) {
      case 'settled':
        return afterSettling({ ...evaluated, progress: { ...progress, head: facts.source.head } }, plan, facts);
      case 'thinking':
        // The summaries that were written stay recorded for the pass that runs after the model's answer.
        return { name: 'end', ...evaluated, outcome: { kind: 'thinking' }, sizes: {} };
      case 'version_changed':
        return replan(state, facts.status);
    }
  },
  propose: ({ progress, snapshot, source, settled }, facts) => {
    if (facts.status === 'proposed') return { name: 'waiting', progress, proposed: { snapshot, source, settled } };
    return needsReplan(facts) ? replan({ progress, snapshot }, facts.status) : lose(facts);
  },
  commit: ({ progress, snapshot, source, settled }, facts) =>
    afterWrite({ progress, snapshot, measured: { source, settled } }, 'committed', facts),
  end: (state, facts) => afterWrite(state, state.outcome.kind, facts),
  fail: (state, facts) =>
    // `fail` ends a pass even if reasons were added. If the store still answers `reasons_added`, another owner has the
    // pass.
    facts.status === 'reasons_added' ? lose({ status: 'superseded' }) : afterWrite(state, 'failed', facts),
  review: ({ progress, review }, facts) =>
    facts.status === 'read' ? decideReview(progress, review, facts.snapshot) : lose(facts),
  check_approval: ({ edits: _, ...state }, facts) => {
    if (facts.status === 'accepted') return { ...state, name: 'commit_approved', proposal: facts.proposal };
    const { progress } = state;
    if (facts.status === 'refused') return { name: 'refuse_approval', progress, refusal: facts.refusal };
    return facts.status === 'gone' ? lose({ status: 'gone' }) : replan(state, facts.status);
  },
  commit_approved: (state, facts) => {
    const { progress, proposal } = state;
    // Messages after the proposal's base were in no plan, so they may need another pass.
    const covered = { ...progress, head: proposal.version.base };
    return afterWrite({ ...state, progress: covered }, 'approved', facts);
  },
  refuse_approval: ({ progress }, facts) => {
    switch (facts.status) {
      case 'refused':
        return { name: 'waiting', progress };
      case 'dropped':
        return dropProposal(progress);
      default:
        return lose(facts);
    }
  },
};

function decideReview(progress: PassProgress, { proposal, verdict }: PassReview, snapshot: PassSnapshot): PassState {
  const { state, requested } = snapshot;
  // A turn with a hard reason does not wait for a person. If another version went live, the proposal no longer matches
  // it.
  if (hasHardReason(requested) || state.size.version !== proposal.version.parent) return dropProposal(progress);
  const evaluated = { progress, snapshot, reasons: joinReasons(proposal.version.reasons, requested) };
  if (verdict?.kind === 'approve') return { name: 'check_approval', ...evaluated, proposal, edits: verdict.edits };
  const outcome = { kind: verdict === undefined ? 'expired' : 'rejected' } as const;
  return { name: 'end', ...evaluated, outcome, sizes: {} };
}

function dropProposal(progress: PassProgress): PassState {
  return { name: 'evaluate', progress: { ...progress, replans: 0, review: undefined }, why: 'proposal_dropped' };
}

function continueWithPlan(
  { progress, plan, conversation }: Summarizing,
  mayAddChildJobs = progress.childJobs.may !== 'never',
): PassState<'find_missing' | 'rebase'> {
  const covered = { ...progress, head: plan.head };
  if (!mayAddChildJobs || plan.sequences.length === 0) return { name: 'rebase', progress: covered, plan };
  return { name: 'find_missing', progress: covered, plan, conversation };
}

function fits(plan: PassPlan, planned: Version | undefined, live: Version): boolean {
  return plan.version === live.number || (planned !== undefined && canRebase(plan, planned, live));
}

function afterSettling(
  evaluated: Evaluated,
  plan: PassPlan,
  { settled, source, texts }: Extract<PassFacts['settle'], { readonly status: 'settled' }>,
): PassState {
  if (settled.kind === 'refused') return { name: 'fail', ...evaluated, code: 'invalid_context' };
  if (settled.kind !== 'version') {
    const { kind } = settled;
    const sequences = plan.sequences.length;
    const sizes = kind === 'no_gain' ? { tokensBefore: settled.tokensBefore, tokensAfter: settled.tokensAfter } : {};
    const measured = { source, settled: undefined };
    return { name: 'end', ...evaluated, outcome: { kind }, sizes: { sequences, ...sizes }, measured };
  }
  const { mode } = evaluated.snapshot.prepared.policy;
  const name = mode === 'review' && !hasHardReason(evaluated.reasons) ? 'propose' : 'commit';
  return { name, ...evaluated, plan, settled, source, texts };
}

function afterWrite(
  { progress, snapshot, measured }: WithSnapshot & { readonly measured?: Measured | undefined },
  outcome: PassOutcome['kind'],
  result: VersionCommitResult,
): PassState {
  if (result.status === 'ended') return { name: 'ended', progress, outcome, snapshot, measured };
  return needsReplan(result) ? replan({ progress, snapshot }, result.status) : lose(result);
}

type WithSnapshot = Pick<Evaluated, 'progress' | 'snapshot'>;

function needsReplan<Result extends { readonly status: string }>(
  result: Result,
): result is Extract<Result, { readonly status: ReplanCause }> {
  return result.status === 'reasons_added' || result.status === 'version_changed';
}

function replan({ progress, snapshot }: WithSnapshot, why: ReplanCause): PassState {
  const next = { ...progress, replans: progress.replans + 1 };
  if (next.replans === MAX_REPLANS)
    return { name: 'fail', progress, snapshot, reasons: progress.claimedReasons, code: 'conflict' };
  if (next.review !== undefined) return { name: 'review', progress: next, review: next.review };
  return { name: 'evaluate', progress: next, why };
}

function lose({ status }: PassLost): PassState<'lost'> {
  return { name: 'lost', why: status };
}

function joinReasons(before: readonly string[], now: readonly Reason[]): Reason[] {
  return REASONS.filter((reason) => before.includes(reason) || now.includes(reason));
}
