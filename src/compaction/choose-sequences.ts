import { hasHardReason, hasTokenReason } from '../domain/pass.ts';
import type { BudgetDivision } from '../domain/pass-plan.ts';
import type { Policy } from '../domain/policy.ts';
import type { Sliced } from '../domain/sliced.ts';
import { mostItemTokens, type PlanRequest } from './budget.ts';
import { divideBudget } from './division.ts';
import type { Layout } from './layout.ts';
import { measureAll, measureBeside, measureRoom } from './material.ts';
import { findSequences } from './sequences.ts';
import { type CappedSequence, capBetweenUsers, capFolds, HARD_SOURCE_SHARE, maxSummaryTokens } from './summary-caps.ts';
import { findTail } from './tail.ts';

export interface ChosenSequences {
  readonly sequences: readonly CappedSequence[];
  /** True if there are none, and a run waits until more is new. */
  readonly isWaiting: boolean;
  /** Absent if no budget is a target. */
  readonly division?: BudgetDivision;
}

/** Chooses the sequences to summarize, and divides the budget among their summaries and what stays. */
export function* chooseSequences(request: PlanRequest, layout: Layout): Sliced<ChosenSequences> {
  const budget = hasTokenReason(request.reasons) ? mostItemTokens(request) : undefined;
  return budget === undefined ? yield* chooseAll(request, layout) : yield* chooseWithin(request, layout, budget);
}

/** Without a budget, everything before the retention window may be summarized, and caps follow from the sources alone. */
function* chooseAll({ policy, reasons }: PlanRequest, layout: Layout): Sliced<ChosenSequences> {
  const { eligible, waiting } = yield* findSequences(layout, policy, {
    isTokenBound: hasTokenReason(reasons),
    tailStart: layout.items.length,
    mayRelaxFloor: false,
  });
  const summaries = eligible.reduce((sum, run) => sum + maxSummaryTokens(run, policy), 0);
  const users = eligible.reduce((sum, run) => sum + run.userTokens, 0);
  const sequences = capFolds(eligible, policy, { summaries, users });
  return { sequences, isWaiting: eligible.length === 0 && waiting.length > 0 };
}

/**
 * With a budget, the tail is as large as its part, and everything before it may be summarized. Scope `sequences` keeps user
 * messages in place while they fit their part and every summary gets its least. Else one summary takes users, too.
 */
function* chooseWithin(request: PlanRequest, layout: Layout, budget: number): Sliced<ChosenSequences> {
  const isHard = hasHardReason(request.reasons);
  const policy = isHard ? { ...request.policy, sourceShare: HARD_SOURCE_SHARE } : request.policy;
  const room = measureRoom(layout, request, budget);
  const whole = divideBudget(room, policy, measureAll(layout, policy, isHard));
  yield;
  const tail = findTail(layout, whole.tail, isHard);
  yield;
  const isTokenBound = true;
  for (const scope of scopesOf(policy)) {
    const found = yield* findSequences(
      layout,
      { ...policy, scope },
      { isTokenBound, tailStart: tail.start, mayRelaxFloor: isHard },
    );
    const sequences = found.eligible;
    if (sequences.length === 0) continue;
    const material = measureBeside(layout, policy, { tail, sequences });
    const division = divideBudget(room, policy, material);
    if (scope === 'prefix') return { sequences: capFolds(sequences, policy, division), isWaiting: false, division };
    if (division.users < material.users || division.summaries < material.minSummaries) continue;
    return { sequences: capBetweenUsers(sequences, policy, division), isWaiting: false, division };
  }
  const division = divideBudget(room, policy, measureBeside(layout, policy, { tail, sequences: [] }));
  return { sequences: [], isWaiting: false, division };
}

function scopesOf({ scope }: Policy): readonly Policy['scope'][] {
  return scope === 'prefix' ? ['prefix'] : ['sequences', 'prefix'];
}
