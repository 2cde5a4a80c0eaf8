import type { Interruptible } from '../domain/interruptible.ts';
import { hasHardReason, hasTokenReason } from '../domain/pass.ts';
import type { BudgetDivision } from '../domain/pass-plan.ts';
import type { Policy } from '../domain/policy.ts';
import { type Budget, mostItemTokens, type PlanRequest, TOKEN_BYTES } from './budget.ts';
import { type Available, divideBudget } from './division.ts';
import { isFixed, type Layout, requestWithin } from './layout.ts';
import { findSequences, type Run } from './sequences.ts';
import {
  type CappedSequence,
  type CapRules,
  capFolds,
  HARD_SOURCE_SHARE,
  maxSummaryTokens,
  minSummaryTokens,
  SMALL_ROOM_TOKENS,
} from './summary-caps.ts';

/** Messages of at most this mean size stay or go as a whole. A part of such a message would save no tokens. */
const SHORT_MESSAGE_TOKENS = 40;

interface ChosenSequences {
  readonly sequences: readonly CappedSequence[];
  readonly isWaiting: boolean;
  readonly division?: BudgetDivision;
}

export function* chooseSequences(request: PlanRequest, layout: Layout): Interruptible<ChosenSequences> {
  const budget = hasTokenReason(request.reasons) ? mostItemTokens(request) : undefined;
  return budget === undefined ? yield* chooseAll(request, layout) : yield* chooseWithin(request, layout, budget);
}

/** Chooses sequences for a pass without a budget. The maximum size of a summary then follows only from its source. */
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

/** With a budget, user messages stay in place only while they fit their share and every summary gets its minimum. */
function* chooseWithin(request: PlanRequest, layout: Layout, budget: number): Interruptible<ChosenSequences> {
  const isHard = hasHardReason(request.reasons);
  const policy = isHard ? { ...request.policy, sourceShare: HARD_SOURCE_SHARE } : request.policy;
  const room = measureRoom(layout, request, budget);
  const whole = divideBudget(room, policy, measureAll(layout, policy, isHard));
  yield;
  const tail = findTail(layout, whole.tail, isHard);
  yield;
  const mayStayWhole = policy.scope === 'sequences' && roomOf(room.budget, room.fixed) < SMALL_ROOM_TOKENS;
  for (const scope of scopesOf(policy)) {
    const found = yield* findSequences(
      layout,
      { ...policy, scope },
      { isTokenBound: true, tailStart: tail.start, mayRelaxFloor: isHard },
    );
    const sequences = found.eligible;
    if (sequences.length === 0 || (mayStayWhole && sequences.every(hasShortMessages))) continue;
    const available = measureBeside(layout, policy, { tail, sequences });
    const division = divideBudget(room, policy, available);
    if (scope === 'prefix') return { sequences: capFolds(sequences, policy, division), isWaiting: false, division };
    if (division.users < available.users || division.summaries < available.minSummaries) continue;
    return { sequences: capFolds(sequences, policy, { summaries: division.summaries }), isWaiting: false, division };
  }
  const division = divideBudget(room, policy, measureBeside(layout, policy, { tail, sequences: [] }));
  return { sequences: [], isWaiting: false, division };
}

/** True for a run of short messages without an old summary. An eviction then removes some of them, and no tag is needed. */
function hasShortMessages({ tokens, newTokens, messages }: Run): boolean {
  return tokens === newTokens && tokens <= SHORT_MESSAGE_TOKENS * messages;
}

function scopesOf({ scope }: Policy): readonly Policy['scope'][] {
  return scope === 'prefix' ? ['prefix'] : ['sequences', 'prefix'];
}

/**
 * Shares of the room for unread results: of its first tokens, and of the others. Larger results are clipped. In a large
 * room, older lines are used more often than the end of a large result.
 */
const UNREAD = { first: 0.6, firstTokens: 800, others: 0.3 };

function unreadWithin(room: number, unit: FixedQuestion['unit']): number {
  const first = Math.min(room, unit === 'bytes' ? UNREAD.firstTokens * TOKEN_BYTES : UNREAD.firstTokens);
  return Math.floor(first * UNREAD.first + (room - first) * UNREAD.others);
}

/** Measures the room for messages. A byte limit, converted into tokens of text, may lower the room. */
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

/** Measures what fixed messages need. Messages that a later step may clip count only up to their share of the room. */
function measureFixed({ groupWeights, protections }: Layout, { unit, budget, isHard }: FixedQuestion): number {
  let [whole, unread, request] = [0, 0, 0];
  groupWeights.forEach((weight, group) => {
    const protection = protections[group];
    if (!isFixed(protection)) return;
    if (protection === 'unread' || (protection === 'last_system' && isHard)) unread += weight[unit];
    else if (protection === 'request' && isHard) request += weight[unit];
    else whole += weight[unit];
  });
  whole += requestWithin(request, roomOf(budget, whole));
  return whole + Math.min(unread, unreadWithin(roomOf(budget, whole), unit));
}

function roomOf(budget: number, taken: number): number {
  return Math.max(0, budget - taken);
}

/** Measures how many tokens users' words, summaries and the tail could use. The tail could use all of them. */
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

/** Measures what users' words, summaries and messages that stay could use, if tail and sequences are known. */
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

/** The newest messages of a context, which stay verbatim. */
interface Tail {
  /** Position of the first item, or the number of items for an empty tail. */
  readonly start: number;
  readonly tokens: number;
}

/**
 * Finds the tail within `maxTokens`. Fixed groups do not count, because the budget was reduced by them before. Without
 * `mayRelaxFloor`, the retention window always stays.
 */
export function findTail(
  { items, groups, groupOf, protections, groupWeights }: Layout,
  maxTokens: number,
  mayRelaxFloor: boolean,
): Tail {
  let tail: Tail = { start: items.length, tokens: 0 };
  let tokens = 0;
  for (let position = items.length - 1; position >= 0; position -= 1) {
    const group = groupOf[position] as number;
    const positions = groups[group]?.positions ?? [];
    const protection = protections[group];
    if (positions.at(-1) === position && !isFixed(protection)) {
      const isFree = mayRelaxFloor || protection !== 'retention';
      tokens += groupWeights[group]?.tokens ?? 0;
      if (isFree && tokens > maxTokens) break;
    }
    // A tool round belongs to the tail only if its first message does.
    if (positions[0] === position) tail = { start: position, tokens };
  }
  return tail;
}
