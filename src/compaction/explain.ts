import { type Interruptible, runToEnd } from '../domain/interruptible.ts';
import { resolveLimits } from '../domain/limits.ts';
import type { LogEntry } from '../domain/message.ts';
import type { PassPlan } from '../domain/pass-plan.ts';
import type { Policy } from '../domain/policy.ts';
import { NO_OVERHEAD } from '../domain/size.ts';
import { START_VERSION } from '../domain/version.ts';
import { type PlanRequest, requestTokensOf } from './budget.ts';
import type { Weigh } from './clip.ts';
import { contextOfLog } from './context.ts';
import { planWithSize } from './plan.ts';
import { evaluateThresholds } from './thresholds.ts';

export interface ExplainedPlan {
  readonly plan: PassPlan;
  /** Tokens after the plan, if every summary reaches its maximum size. */
  readonly tokensAfter: number;
  readonly messages: number;
  readonly turns: number;
  readonly protectedPositions: readonly number[];
}

/** Plans over a whole log. Thresholds that are ratios of a window are off, because there is no model. */
export function explainPlan(
  entries: readonly LogEntry[],
  policy: Policy,
  weigh: Weigh,
  requested?: 'manual',
): ExplainedPlan {
  const context = contextOfLog(entries, START_VERSION);
  const request = { context, policy, weigh, limits: resolveLimits(policy), overhead: NO_OVERHEAD };
  return runToEnd(explainPlanInSlices({ ...request, ...(requested && { requested }) }));
}

interface ExplainRequest extends Omit<PlanRequest, 'reasons' | 'firstUserSeq'> {
  readonly requested?: 'manual';
}

export function* explainPlanInSlices(given: ExplainRequest): Interruptible<ExplainedPlan> {
  const { context, policy, limits, requested } = given;
  const { items } = context;
  const firstUserSeq = items.find((item) => item.message.role === 'user')?.from;
  const turns = items.filter((item) => item.message.role === 'user').length;
  const last = items.at(-1)?.message;
  const reasons = evaluateThresholds(policy, limits, {
    tokens: requestTokensOf(given, items),
    messages: items.length,
    turns,
    hasTurnEnded: last?.role === 'assistant' && last.toolCalls === undefined,
  });
  if (requested !== undefined) reasons.push(requested);
  const request = { ...given, reasons, ...(firstUserSeq !== undefined && { firstUserSeq }) };
  const { plan, tokensAfter, layout } = yield* planWithSize(request);
  const protectedPositions = items.flatMap((_, position) =>
    layout.protections[layout.groupOf[position] as number] === undefined ? [] : [position],
  );
  return { plan, tokensAfter, messages: items.length, turns, protectedPositions };
}
