import type { Policy } from '../policy.ts';
import { isFloor, type Layout, type Protection } from './layout.ts';
import type { Run } from './sequences.ts';

/** How a budget is divided, in tokens of the messages. */
export interface BudgetDivision {
  /** System messages, pins, the last user message, open and unread rounds. They come off first. */
  readonly fixed: number;
  /** Users' words before the tail. */
  readonly users: number;
  /** Summaries of the rest before the tail. */
  readonly summaries: number;
  /** Newest messages, which stay verbatim: the floor first. */
  readonly tail: number;
}

/** Tokens of what could fill each part. */
export interface Material {
  readonly users: number;
  /** What summaries may have at most, by the size of their sources. */
  readonly summaries: number;
  readonly tail: number;
}

/** Shares of what the fixed parts leave. The tail has the rest. Measured: `npm run bench:context`. */
const USERS_SHARE = 0.2;
const SUMMARIES_SHARE = 0.45;

/**
 * Divides a budget before anything is spent. Fixed parts come off the top. Users' words and summaries have their shares, and the
 * tail has the rest. What the material cannot use flows to the tail, then to the summaries, then to the users.
 */
export function divideBudget(maxTokens: number, fixed: number, material: Material): BudgetDivision {
  const room = Math.max(0, maxTokens - fixed);
  let users = Math.min(material.users, Math.floor(room * USERS_SHARE));
  let summaries = Math.min(material.summaries, Math.floor(room * SUMMARIES_SHARE));
  const tail = Math.min(material.tail, room - users - summaries);
  summaries = Math.min(material.summaries, room - users - tail);
  users = Math.min(material.users, room - summaries - tail);
  return { fixed, users, summaries, tail };
}

/** Share of a source that its summary may have. A larger one would save too little. */
const MAX_SUMMARY_SHARE = 0.5;

/** Tokens that a summary of this source may have by the policy, however large the budget is. */
export function maxSummaryTokens(sourceTokens: number, { summarizer }: Pick<Policy, 'summarizer'>): number {
  const share = Math.floor(sourceTokens * MAX_SUMMARY_SHARE);
  if (summarizer === 'structural') return share;
  const cap = typeof summarizer === 'string' ? undefined : summarizer.maxTokens;
  return Math.min(share, cap ?? DEFAULT_MODEL_TOKENS);
}

/** A model seldom writes more, and each token is paid for. */
const DEFAULT_MODEL_TOKENS = 2_000;

/** Finds the newest groups that fit the tail. The retention window is always part of it. @returns position of its first item */
export function findTailStart(
  { items, groups, groupOf, protections, groupWeights }: Layout,
  maxTokens: number,
  mayRelaxFloor: boolean,
): number {
  let start = items.length;
  let tokens = 0;
  const counted = new Set<number>();
  for (let position = items.length - 1; position >= 0; position -= 1) {
    const group = groupOf[position] as number;
    const protection = protections[group];
    if (!counted.has(group)) {
      counted.add(group);
      if (!isFixed(protection) && protection !== 'unread') tokens += groupWeights[group]?.tokens ?? 0;
      if (
        tokens > maxTokens &&
        (protection !== 'retention' || mayRelaxFloor) &&
        protection !== 'unread' &&
        !isFixed(protection)
      )
        break;
    }
    if ((groups[group]?.positions[0] ?? 0) === position) start = position;
  }
  return start;
}

/** Parts that every budget has to pay. */
export function isFixed(protection: Protection | undefined): boolean {
  return protection !== undefined && !isFloor(protection) && protection !== 'unread';
}

/** Tokens of all groups whose protection passes. */
export function sumGroups(
  layout: Layout,
  isCounted: (protection: Protection | undefined, group: number) => boolean,
): number {
  return layout.groupWeights.reduce(
    (sum, { tokens }, group) => sum + (isCounted(layout.protections[group], group) ? tokens : 0),
    0,
  );
}

/** Measures what could fill each part, if the tail begins at `tailStart`. */
export function measureMaterial(layout: Layout, policy: Policy, tailStart: number): Material {
  const { items, groupOf, protections } = layout;
  let [users, others, tail] = [0, 0, 0];
  items.forEach(({ message, tokens }, position) => {
    const protection = protections[groupOf[position] as number];
    if (isFixed(protection) || protection === 'unread') return;
    if (position >= tailStart || tailStart === items.length) tail += tokens;
    if (position >= tailStart) return;
    if (message.role === 'user') users += tokens;
    else others += tokens;
  });
  return { users, summaries: maxSummaryTokens(others, policy), tail };
}

export interface RestRequest {
  readonly most: number;
  readonly fixed: number;
  readonly tail: number;
  readonly tailStart: number;
  readonly eligible: readonly Run[];
  readonly scope: Policy['scope'];
}

/** Least tokens of a summary among several. Smaller ones are folded to one. */
const MIN_SUMMARY_TOKENS = 160;

/** Divides what the tail leaves among users' words and summaries. @returns undefined if the budget is too small for this scope */
export function divideRest(
  layout: Layout,
  policy: Policy,
  request: RestRequest,
): (BudgetDivision & { readonly sequences: Cap[] }) | undefined {
  const { most, fixed, tail, tailStart, eligible, scope } = request;
  const { items, groupOf, protections } = layout;
  const room = most - fixed - tail;
  const inRun = new Set(
    eligible.flatMap(({ fromPosition, toPosition }) =>
      Array.from({ length: toPosition - fromPosition + 1 }, (_, i) => fromPosition + i),
    ),
  );
  let [users, kept] = [0, 0];
  items.forEach(({ message, tokens }, position) => {
    if (
      position >= tailStart ||
      isFixed(protections[groupOf[position] as number]) ||
      protections[groupOf[position] as number] === 'unread'
    )
      return;
    if (message.role === 'user') users += tokens;
    else if (!inRun.has(position)) kept += tokens;
  });
  const most2 = eligible.map((run) => maxSummaryTokens(run.tokens, policy));
  const want = most2.reduce((sum, tokens) => sum + tokens, 0);
  if (scope === 'sequences') {
    const summaries = Math.min(want, room - users - kept);
    if (users > Math.max(room * 0.35, room - want) || summaries < Math.min(want, MIN_SUMMARY_TOKENS * eligible.length))
      return undefined;
    const sequences = eligible.map((run, index) => ({
      from: run.from,
      to: run.to,
      tokens: run.tokens,
      maxTokens: Math.floor((summaries * (most2[index] as number)) / want),
      userTokens: 0,
    }));
    return { fixed, users, summaries, tail, sequences };
  }
  const usersPart = Math.min(users, Math.max(Math.floor(room * 0.3), room - want));
  const summaries = Math.max(0, Math.min(want, room - usersPart - kept));
  const sequences = eligible.map((run, index) => ({
    from: run.from,
    to: run.to,
    tokens: run.tokens,
    maxTokens: Math.floor(((summaries + usersPart) * (most2[index] as number)) / want),
    userTokens: Math.floor((usersPart * (most2[index] as number)) / want),
  }));
  return { fixed, users: usersPart, summaries, tail, sequences };
}

interface Cap {
  readonly from: number;
  readonly to: number;
  readonly tokens: number;
  readonly maxTokens: number;
  readonly userTokens: number;
}
