import type { Interruptible } from '../domain/interruptible.ts';
import type { Weight } from '../domain/message.ts';
import { hasHardReason } from '../domain/pass.ts';
import type { BudgetInfeasible, PassPlan } from '../domain/pass-plan.ts';
import type { Segment } from '../domain/version.ts';
import { explainInfeasible, opensWithUser, PLACEHOLDER, requestTokensOf, weighSent } from './budget.ts';
import { type Context, weighItems } from './context.ts';
import { isGain } from './gain.ts';
import { Ladder, type StepTaken } from './ladder.ts';
import { isInputCut, isRequestGone } from './layout.ts';
import { type Explanation, explainSize, type PlanRequest } from './plan.ts';
import { type KeptPrefix, measurePrefix } from './prefix.ts';
import { segmentItems } from './segments.ts';
import type { AcceptedSummary } from './summaries.ts';
import { isSendable } from './thresholds.ts';

export type { AcceptedSummary } from './summaries.ts';

export interface SettleRequest extends PlanRequest {
  readonly plan: PassPlan;
  readonly summaries: readonly AcceptedSummary[];
}

export interface SettledContext {
  readonly kind: 'version';
  readonly strategy: 'trim' | 'summarize' | 'evict';
  readonly segments: readonly Segment[];
  readonly weight: Weight;
  /** Weight of the placeholder message, if rendering puts a placeholder first. */
  readonly placeholder?: Weight;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly archived: number;
  readonly explained: readonly Explanation[];
  readonly isFloorRelaxed: boolean;
  /** True if the budget has no room for a whole input of the running turn, or for the last request. */
  readonly isInputCut: boolean;
  readonly prefix: KeptPrefix;
  readonly summaryKeys: readonly string[];
  readonly steps: readonly StepTaken[];
}

/** `none`: nothing could be removed. `infeasible`: the context is above the budget, and nothing more may go. */
export type SettleOutcome =
  | SettledContext
  | { readonly kind: 'none' }
  | { readonly kind: 'no_gain'; readonly tokensBefore: number; readonly tokensAfter: number }
  | { readonly kind: 'infeasible'; readonly details: BudgetInfeasible };

/**
 * Turns a plan and its summaries into the next version. It neither waits for summaries nor requests them, so that a
 * turn which cannot wait longer settles with the summaries that are ready.
 * 1. Drop and mask.
 * 2. Place the accepted summaries. A missing summary leaves its sequence as it is.
 * 3. Clip large messages and evict groups, while the budget needs it, or as the plan says.
 * 4. Under a hard reason, clip and relax the floor.
 * 5. Compare the result with the budget and with `minGain`.
 * 6. If nothing fits, or only shortened inputs of the running turn, settle again without the summaries.
 *
 * The second try is for the size. `settleSendable` of `workers/compaction/plan-and-settle.ts` has another, for the rules
 * of the provider's format.
 */
export function* settleInSlices(request: SettleRequest): Interruptible<SettleOutcome> {
  const outcome = yield* settleOnce(request);
  const isCut = outcome.kind === 'infeasible' || (outcome.kind === 'version' && outcome.isInputCut);
  if (!isCut || request.summaries.length === 0) return outcome;
  // Summaries are planned in tokens, so they may exceed the byte limit. This pass cannot evict its own summaries.
  return yield* settleOnce({ ...request, summaries: [] });
}

function* settleOnce(request: SettleRequest): Interruptible<SettleOutcome> {
  const { context, plan, reasons, policy } = request;
  const before = requestTokensOf(request, context.items);
  const ladder = new Ladder(request);
  yield* ladder.trim();
  const placed = yield* ladder.summarize(request.summaries, context.version.number + 1);
  yield* ladder.descend(plan.kind === 'evict' ? policy.strategy : undefined);
  const { items, steps } = ladder;
  const after = requestTokensOf(request, items);
  const isHard = hasHardReason(reasons);
  // The placeholder for a first user message may outweigh all that could be removed.
  if (ladder.isOver && (steps.length === 0 || (isHard && (after >= before || !isWorthIt(request, items))))) {
    return { kind: 'infeasible', details: explainInfeasible(request, yield* ladder.layOut()) };
  }
  if (steps.length === 0) return { kind: 'none' };
  yield;
  const segments = segmentItems(items, context.head);
  yield;
  if (!isGain(policy, before, after, isHard)) {
    return { kind: 'no_gain', tokensBefore: before, tokensAfter: after };
  }
  const explained = yield* explainSize(request, ladder);
  return {
    kind: 'version',
    strategy: strategyOf(ladder, placed),
    segments,
    weight: weighItems(items),
    ...(opensWithUser(items) ? {} : { placeholder: PLACEHOLDER }),
    tokensBefore: before,
    tokensAfter: after,
    archived: countMessages(context.items) - countMessages(items),
    explained: [...explained, ...(placed.length < plan.sequences.length ? ['summaries_missing' as const] : [])],
    isFloorRelaxed: ladder.isFloorRelaxed,
    isInputCut: isInputCut(context, items) || isRequestGone(context, items),
    prefix: measurePrefix(context.items, items, policy.retentionWindow),
    summaryKeys: placed,
    steps,
  };
}

function strategyOf({ steps }: Ladder, summaryKeys: readonly string[]): SettledContext['strategy'] {
  if (summaryKeys.length > 0) return 'summarize';
  return steps.some(({ step }) => step === 'evict' || step === 'relax') ? 'evict' : 'trim';
}

/**
 * A hard pass above `maxTokens` commits if the waiting turn can be sent. A manual pass does not commit then, because
 * its caller asked for the budget.
 */
function isWorthIt(request: SettleRequest, items: Context['items']): boolean {
  const { reasons, limits, overhead } = request;
  const { bytes } = weighSent(items);
  const fits = limits.maxBytes === undefined || bytes + overhead.bytes <= limits.maxBytes;
  const isSent = limits.usable !== undefined && isSendable(limits, requestTokensOf(request, items));
  return fits && isSent && !reasons.includes('manual');
}

function countMessages(items: Context['items']): number {
  return items.filter(({ segment }) => segment?.kind !== 'summary').length;
}
