import { hasHardReason } from '../domain/pass.ts';
import { type Budget, TOKEN_BYTES } from './budget.ts';
import type { Material } from './division.ts';
import { isFixed, type Layout } from './layout.ts';
import type { Run } from './sequences.ts';
import { type CapRules, maxSummaryTokens, minSummaryTokens } from './summary-caps.ts';
import type { Tail } from './tail.ts';

/** Share of the room that unread results may have. Larger ones are clipped. */
const UNREAD_SHARE = 0.6;
/** Share of the room that a last user message may have while no turn runs. A hard pass clips a larger one. */
const READ_USER_SHARE = 0.25;

/**
 * Measures the budget of the messages and its fixed part. A byte limit lowers the budget: what it leaves beside the fixed
 * part counts in tokens of text.
 * @param maxTokens tokens that the messages may have
 */
export function measureRoom(
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

/** Measures what each part of a division could use, before the tail is known: the tail could use everything. */
export function measureAll({ groups, groupWeights, protections }: Layout, policy: CapRules, isHard: boolean): Material {
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

/** Measures what each part could use after the tail is found and the sequences before it are known. */
export function measureBeside(
  { items, groupOf, protections }: Layout,
  policy: CapRules,
  { tail, sequences }: { readonly tail: Tail; readonly sequences: readonly Run[] },
): Material {
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
    summaries: sum(caps),
    minSummaries: sum(caps.map(minSummaryTokens)),
    tail: verbatim,
    floor: verbatim,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
