import type { BudgetInfeasible } from '../../domain/compaction/budget.ts';
import { type PassPlan, planInSlices } from '../../domain/compaction/plan.ts';
import type { SettledContext } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import { type Context, type ContextSource, messagesOf } from '../../domain/context.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { Summary } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import type { Violation } from '../../wire/wire-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import type { AcceptedSummaries } from './accepted-summaries.ts';
import { checkVersion } from './check-version.ts';
import { evaluateRequest } from './evaluate.ts';
import { type PassFindings, planRequest } from './pass-findings.ts';
import { type Refusal, settleSendable } from './settle-sendable.ts';

/** What a pass finds, without a store to find it in. */
export interface TrialRequest extends PassFindings {
  readonly prepared: PreparedAgent;
  readonly state: ConversationState;
  readonly source: ContextSource;
  /** built from `source` */
  readonly context: Context;
  readonly requested: readonly Reason[];
  /** the rules of the wire are not asked: where nothing is committed, they take more time than all the rest */
  readonly isUnchecked?: boolean;
  /** writes the summaries of a plan */
  readonly complete: (plan: PassPlan) => Promise<AcceptedSummaries>;
}

/** How a pass would end, and why it would be made. */
export type TrialOutcome = { readonly reasons: readonly Reason[] } & (
  | { readonly kind: 'no_reason' | 'thinking' | 'none' | 'no_gain' }
  | {
      readonly kind: 'version';
      readonly settled: SettledContext;
      /** those that it uses, by key */
      readonly summaries: ReadonlyMap<string, Summary>;
    }
  | { readonly kind: 'infeasible'; readonly details: BudgetInfeasible }
  /** what it would have committed breaks a rule of a format */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
);

/**
 * Evaluates, plans, settles and checks as a pass does, in slices. What comes of it is the
 * caller's: nothing is written anywhere.
 */
export async function tryPass(trial: TrialRequest): Promise<TrialOutcome> {
  const { prepared, state, source, context } = trial;
  const reasons = evaluateRequest(prepared, state, trial.requested);
  if (reasons.length === 0) return { kind: 'no_reason', reasons };
  if (waitsForAnswer(reasons, messagesOf(context))) return { kind: 'thinking', reasons };
  const request = planRequest(prepared, context, reasons, trial);
  const plan = await eventLoopShare.run(planInSlices(request));
  if (plan.infeasible !== undefined) return { kind: 'infeasible', details: plan.infeasible, reasons };
  if (plan.kind === 'none' || plan.kind === 'infeasible') return { kind: 'none', reasons };
  const { summaries, texts } = await trial.complete(plan);
  let refusal: Refusal = { codes: [], message: '' };
  const settling = settleSendable(
    { ...request, plan, summaries },
    {
      quarantine: state.quarantine,
      check: (made) => (trial.isUnchecked === true ? withoutViolations() : checkVersion(prepared, source, made, texts)),
      onRefusal: (found) => {
        refusal = found;
      },
    },
  );
  const settled = await eventLoopShare.run(settling);
  switch (settled.kind) {
    case 'version': {
      const used = new Map([...texts].filter(([key]) => settled.texts.includes(key)));
      return { kind: 'version', settled, summaries: used, reasons };
    }
    case 'refused':
      return { kind: 'refused', refusal, reasons };
    case 'infeasible':
      return { kind: 'infeasible', details: settled.details, reasons };
    default:
      return { kind: settled.kind, reasons };
  }
}

// oxlint-disable-next-line require-yield -- no work, so nothing to interrupt
function* withoutViolations(): Sliced<Violation[]> {
  return [];
}
