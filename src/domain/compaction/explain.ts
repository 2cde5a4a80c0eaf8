import { contextOfLog } from '../context.ts';
import { resolveLimits } from '../limits.ts';
import type { LogEntry } from '../message.ts';
import type { Policy } from '../policy.ts';
import { NO_OVERHEAD } from '../size.ts';
import { runToEnd, type Sliced } from '../sliced.ts';
import { START_VERSION } from '../version.ts';
import { requestTokensOf } from './budget.ts';
import type { Weigh } from './clip.ts';
import { layOutInSlices } from './layout.ts';
import { type PassPlan, planInSlices } from './plan.ts';
import { findLandmarks } from './prefix.ts';
import { evaluateThresholds } from './thresholds.ts';

/** A plan over a whole log, with the figures behind it. */
export interface ExplainedPlan {
  readonly plan: PassPlan;
  readonly messages: number;
  readonly turns: number;
  /** Positions of messages that no soft pass would remove. */
  readonly protectedPositions: readonly number[];
}

export function explainPlan(entries: readonly LogEntry[], policy: Policy, weigh: Weigh): ExplainedPlan {
  return runToEnd(explainPlanInSlices(entries, policy, weigh));
}

/**
 * Plans over a log without compaction and without a model. Ratios of the window are off, and counts cover the whole
 * log.
 */
export function* explainPlanInSlices(
  entries: readonly LogEntry[],
  policy: Policy,
  weigh: Weigh,
): Sliced<ExplainedPlan> {
  const context = contextOfLog(entries, START_VERSION);
  const { items } = context;
  const firstUserSeq = items.find((item) => item.message.role === 'user')?.from;
  const turns = items.filter((item) => item.message.role === 'user').length;
  const limits = resolveLimits(policy);
  const last = items.at(-1)?.message;
  const reasons = evaluateThresholds(policy, limits, {
    tokens: requestTokensOf({ overhead: NO_OVERHEAD }, items),
    messages: items.length,
    turns,
    hasTurnEnded: last?.role === 'assistant' && last.toolCalls === undefined,
  });
  const seen = firstUserSeq === undefined ? {} : { firstUserSeq };
  const request = { context, policy, limits, overhead: NO_OVERHEAD, reasons, weigh, ...seen };
  const plan = yield* planInSlices(request);
  const layout = yield* layOutInSlices(items, policy, findLandmarks(request));
  const protectedPositions = items.flatMap((_, position) =>
    layout.protections[layout.groupOf[position] as number] === undefined ? [] : [position],
  );
  return { plan, messages: items.length, turns, protectedPositions };
}
