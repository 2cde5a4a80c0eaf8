import type { Interruptible } from '../domain/interruptible.ts';
import { hasHardReason, hasTokenReason } from '../domain/pass.ts';
import type { BudgetDivision, PassPlan } from '../domain/pass-plan.ts';
import type { Policy } from '../domain/policy.ts';
import {
  type Budget,
  explainInfeasible,
  mostItemTokens,
  type PlanRequest,
  requestTokens,
  requestTokensOf,
  TOKEN_BYTES,
  weighSent,
} from './budget.ts';
import { listChanges } from './changes.ts';
import { type Available, divideBudget } from './division.ts';
import { keepsSummaries } from './gain.ts';
import { Ladder } from './ladder.ts';
import { isFixed, isFloor, type Layout } from './layout.ts';
import { findSequences, type Run } from './sequences.ts';
import {
  type CappedSequence,
  type CapRules,
  capBetweenUsers,
  capFolds,
  HARD_SOURCE_SHARE,
  maxSummaryTokens,
  minSummaryTokens,
} from './summary-caps.ts';
import { findTail, type Tail } from './tail.ts';

export type { PlanRequest } from './budget.ts';

/** Why a plan or a version differs from the figures of its policy. */
export type Explanation =
  | 'no_token_reason'
  | 'retention_floor'
  | 'waiting_run'
  | 'summaries_missing'
  | 'no_gain'
  | 'nothing_removable'
  | 'within_budget';

/**
 * Decides what a pass will do, before it spends anything. Pure and deterministic. The first matching rule decides:
 * 1. No reason, or compaction is off: `none`.
 * 2. Drops and masks alone reach the budget: `trim`.
 * 3. Some sequences are large enough: `summarize` them. If a soft pass would save less than `minGain`: `trim` or `none`. If a
 *    hard pass would miss its budget with the summaries: `evict`.
 * 4. An existing summary is not rewritten until enough new messages follow it: `trim` or `none`.
 * 5. Groups can be evicted or clipped: `evict`.
 * 6. Nothing can be removed: `infeasible` above the budget, else `none`.
 */
export function* planInSlices(request: PlanRequest): Interruptible<PassPlan> {
  return yield* choosePlan(request, new Ladder(request));
}

export interface SizedPlan {
  readonly plan: PassPlan;
  /** If every summary has the size of its cap. */
  readonly tokensAfter: number;
  /** The context before the plan. */
  readonly layout: Layout;
}

export function* planWithSize(request: PlanRequest): Interruptible<SizedPlan> {
  const ladder = new Ladder(request);
  const layout = yield* ladder.layOut();
  const plan = yield* choosePlan(request, ladder);
  const saved = plan.sequences.reduce((sum, { tokens, maxTokens }) => sum + tokens - maxTokens, 0);
  const { tokens } = weighSent(ladder.items, ladder.weight);
  return { plan, tokensAfter: requestTokens(request, tokens - saved), layout };
}

function* choosePlan(request: PlanRequest, ladder: Ladder): Interruptible<PassPlan> {
  const { context, policy, reasons } = request;
  const plan = {
    reasons: [...reasons],
    version: context.version.number,
    head: context.head,
    tokens: requestTokensOf(request, context.items),
    sequences: [],
    evict: [],
  };
  if (reasons.length === 0 || !policy.enabled) return { ...plan, kind: 'none', explained: [] };
  yield* ladder.trim();
  const isTrimmed = ladder.steps.length > 0;
  const changes = listChanges(context.items, ladder.items);
  if (isTrimmed && hasTokenReason(reasons) && !ladder.isOver)
    return { ...plan, ...changes, kind: 'trim', explained: [] };
  yield;
  const { sequences, isWaiting, division } = yield* chooseSequences(request, yield* ladder.layOut());
  const divided = division === undefined ? {} : { division };
  const unsummarized = { ...plan, ...changes, kind: isTrimmed ? 'trim' : 'none' } as const;
  if (isWaiting) return { ...unsummarized, explained: ['waiting_run'] };
  if (yield* keepsSummaries(request, ladder, sequences)) {
    return { ...plan, ...divided, ...changes, kind: 'summarize', sequences: [...sequences], explained: [] };
  }
  if (sequences.length === 0 || hasHardReason(reasons)) {
    return { ...plan, ...divided, ...(yield* planEviction(request, ladder)) };
  }
  return { ...unsummarized, ...divided, explained: ['no_gain'] };
}

function* planEviction(
  request: PlanRequest,
  ladder: Ladder,
): Interruptible<Pick<PassPlan, 'kind' | 'evict' | 'shorten' | 'explained' | 'infeasible'>> {
  const { context, policy } = request;
  yield* ladder.descend(policy.strategy);
  if (ladder.steps.length > 0) {
    const explained = yield* explainSize(request, ladder);
    return { kind: 'evict', ...listChanges(context.items, ladder.items), explained };
  }
  const explained: Explanation[] = ['nothing_removable'];
  if (!ladder.isOver) {
    const isWithinBudget = hasTokenReason(request.reasons) && request.limits.maxTokens !== undefined;
    return { kind: 'none', evict: [], explained: isWithinBudget ? ['within_budget'] : explained };
  }
  return { kind: 'infeasible', evict: [], explained, infeasible: explainInfeasible(request, yield* ladder.layOut()) };
}

/** Explains a size above `maxTokens` after all steps. */
export function* explainSize({ limits, reasons }: Budget, ladder: Ladder): Interruptible<Explanation[]> {
  if (ladder.isOver) {
    const { protections } = yield* ladder.layOut();
    return [protections.some(isFloor) ? 'retention_floor' : 'nothing_removable'];
  }
  return hasTokenReason(reasons) || limits.maxTokens === undefined ? [] : ['no_token_reason'];
}

interface ChosenSequences {
  readonly sequences: readonly CappedSequence[];
  /** There are no sequences, and a run waits until more is new. */
  readonly isWaiting: boolean;
  /** Absent if no budget is a target. */
  readonly division?: BudgetDivision;
}

function* chooseSequences(request: PlanRequest, layout: Layout): Interruptible<ChosenSequences> {
  const budget = hasTokenReason(request.reasons) ? mostItemTokens(request) : undefined;
  return budget === undefined ? yield* chooseAll(request, layout) : yield* chooseWithin(request, layout, budget);
}

/**
 * Without a budget, everything before the retention window may be summarized, and caps follow from the sources alone.
 */
function* chooseAll({ policy, reasons }: PlanRequest, layout: Layout): Interruptible<ChosenSequences> {
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
 * With a budget, everything before the tail may be summarized. Scope `sequences` keeps user messages in place while
 * they fit their part and every summary gets its least. Else one summary takes users, too.
 */
function* chooseWithin(request: PlanRequest, layout: Layout, budget: number): Interruptible<ChosenSequences> {
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
    const available = measureBeside(layout, policy, { tail, sequences });
    const division = divideBudget(room, policy, available);
    if (scope === 'prefix') return { sequences: capFolds(sequences, policy, division), isWaiting: false, division };
    if (division.users < available.users || division.summaries < available.minSummaries) continue;
    return { sequences: capBetweenUsers(sequences, policy, division), isWaiting: false, division };
  }
  const division = divideBudget(room, policy, measureBeside(layout, policy, { tail, sequences: [] }));
  return { sequences: [], isWaiting: false, division };
}

function scopesOf({ scope }: Policy): readonly Policy['scope'][] {
  return scope === 'prefix' ? ['prefix'] : ['sequences', 'prefix'];
}

/** Share of the room that unread results may have. Larger ones are clipped. */
const UNREAD_SHARE = 0.6;
/** The same for a last user message while no turn runs, in a hard pass. */
const READ_USER_SHARE = 0.25;

/** A byte limit lowers the budget: what it leaves beside the fixed part counts in tokens of text. */
function measureRoom(
  layout: Layout,
  { limits, overhead, reasons }: Budget,
  maxTokens: number,
): { readonly budget: number; readonly fixed: number } {
  const isHard = hasHardReason(reasons);
  const fixed = measureFixed(layout, { unit: 'tokens', budget: maxTokens, isHard });
  if (limits.maxBytes === undefined) return { budget: maxTokens, fixed };
  const maxBytes = limits.maxBytes - overhead.bytes;
  const bytes = roomOf(maxBytes, measureFixed(layout, { unit: 'bytes', budget: maxBytes, isHard }));
  return { budget: Math.min(maxTokens, fixed + Math.floor(bytes / TOKEN_BYTES)), fixed };
}

interface FixedQuestion {
  readonly unit: 'tokens' | 'bytes';
  readonly budget: number;
  readonly isHard: boolean;
}

/** Messages that the ladder may clip count only up to their share of the room. */
function measureFixed({ groupWeights, protections }: Layout, { unit, budget, isHard }: FixedQuestion): number {
  let [whole, unread, readUser] = [0, 0, 0];
  groupWeights.forEach((weight, group) => {
    const protection = protections[group];
    if (!isFixed(protection)) return;
    if (protection === 'unread' || (protection === 'last_system' && isHard)) unread += weight[unit];
    else if (protection === 'read_user' && isHard) readUser += weight[unit];
    else whole += weight[unit];
  });
  whole += Math.min(readUser, Math.floor(roomOf(budget, whole) * READ_USER_SHARE));
  return whole + Math.min(unread, Math.floor(roomOf(budget, whole) * UNREAD_SHARE));
}

function roomOf(budget: number, taken: number): number {
  return Math.max(0, budget - taken);
}

/** What each part could use before the tail is known: the tail could use everything. */
function measureAll({ groups, groupWeights, protections }: Layout, policy: CapRules, isHard: boolean): Available {
  let [tokens, newTokens, userTokens, floor] = [0, 0, 0, 0];
  groupWeights.forEach((weight, group) => {
    const protection = protections[group];
    if (isFixed(protection)) return;
    const kind = groups[group]?.kind;
    tokens += weight.tokens;
    if (kind === 'user') userTokens += weight.tokens;
    if (kind !== 'summary') newTokens += weight.tokens;
    if (protection === 'retention' && !isHard) floor += weight.tokens;
  });
  const summaries = maxSummaryTokens({ tokens, newTokens, userTokens }, policy);
  return { users: userTokens, summaries, minSummaries: minSummaryTokens(summaries), tail: tokens, floor };
}

/** What each part could use once the tail and the sequences before it are known. */
function measureBeside(
  { items, groupOf, protections }: Layout,
  policy: CapRules,
  { tail, sequences }: { readonly tail: Tail; readonly sequences: readonly Run[] },
): Available {
  let [users, kept, next] = [0, 0, 0];
  for (let position = 0; position < tail.start; position += 1) {
    while ((sequences[next]?.toPosition ?? position) < position) next += 1;
    const { message, tokens } = items[position] as Layout['items'][number];
    if (isFixed(protections[groupOf[position] as number])) continue;
    if (message.role === 'user') users += tokens;
    else if ((sequences[next]?.fromPosition ?? items.length) > position) kept += tokens;
  }
  const caps = sequences.map((run) => maxSummaryTokens(run, policy));
  const verbatim = tail.tokens + kept;
  return {
    users,
    summaries: addUp(caps),
    minSummaries: addUp(caps.map(minSummaryTokens)),
    tail: verbatim,
    floor: verbatim,
  };
}

function addUp(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
