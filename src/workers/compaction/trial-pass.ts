import type { Context } from '../../compaction/context.ts';
import type { SettledContext } from '../../compaction/settle.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { Reason } from '../../domain/pass.ts';
import type { BudgetInfeasible, PassPlan } from '../../domain/pass-plan.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { evaluateRequest, type PassFindings } from './pass-snapshot.ts';
import { planContext, settleContext } from './plan-and-settle.ts';
import type { AcceptedSummaries } from './sequence-summaries.ts';
import type { Refusal } from './settle-sendable.ts';

/** A conversation's state, held in memory, on which a compaction pass is tried. */
export interface TrialRequest extends PassFindings {
  readonly prepared: PreparedAgent;
  readonly state: ConversationState;
  readonly source: ContextSource;
  /** The conversation's context, built from the log entries in `source`. */
  readonly context: Context;
  readonly requested: readonly Reason[];
  /**
   * If true, the new context is not checked against the formats of providers. That check takes longer than all other
   * work of a trial.
   */
  readonly isUnchecked?: boolean;
  /** Writes the missing summaries of a plan, and returns all accepted ones. */
  readonly complete: (plan: PassPlan) => Promise<AcceptedSummaries>;
}

/** The end of a tried pass, with the reasons to compact that its evaluation found. */
export type TrialOutcome = { readonly reasons: readonly Reason[] } & (
  | { readonly kind: 'no_reason' | 'thinking' | 'none' | 'no_gain' }
  | { readonly kind: 'version'; readonly settled: SettledContext }
  | { readonly kind: 'infeasible'; readonly details: BudgetInfeasible }
  /** The new context version would break a rule of a provider's format. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
);

/** Runs one compaction pass as a worker does (evaluate, plan, settle, check), but writes nothing to a store. */
export async function tryPass(trial: TrialRequest): Promise<TrialOutcome> {
  const { prepared, state, source, context, requested, firstUserSeq, refusedTokens } = trial;
  const reasons = evaluateRequest(prepared, state, requested);
  if (reasons.length === 0) return { kind: 'no_reason', reasons };
  const snapshot = { state, requested, refusedTokens, prepared };
  const input = { snapshot, reasons, source, context, firstUserSeq };
  const planned = await planContext(input);
  if (planned.status === 'thinking') return { kind: 'thinking', reasons };
  const { plan } = planned;
  if (plan.infeasible !== undefined) return { kind: 'infeasible', details: plan.infeasible, reasons };
  if (plan.kind === 'none' || plan.kind === 'infeasible') {
    return { kind: plan.explained.includes('no_gain') ? 'no_gain' : 'none', reasons };
  }
  const accepted = await trial.complete(plan);
  const settled = await settleContext({ ...input, plan, accepted }, { isUnchecked: trial.isUnchecked === true });
  if (settled.kind === 'version') return { kind: 'version', settled, reasons };
  return settled.kind === 'no_gain' ? { kind: 'no_gain', reasons } : { ...settled, reasons };
}
