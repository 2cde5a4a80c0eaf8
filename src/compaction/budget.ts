import type { Interruptible } from '../domain/interruptible.ts';
import { FRAMING_TOKENS, type Limits, scaleTokens } from '../domain/limits.ts';
import { addWeights, NO_WEIGHT, type Weight } from '../domain/message.ts';
import { hasTokenReason, type Reason } from '../domain/pass.ts';
import type { BudgetInfeasible } from '../domain/pass-plan.ts';
import type { Policy } from '../domain/policy.ts';
import { type RequestOverhead, upperBoundTokens } from '../domain/size.ts';
import type { ContextItem } from '../domain/version.ts';
import type { Weigh } from './clip.ts';
import { type Context, weighItems } from './context.ts';
import type { ContextEvidence } from './context-evidence.ts';
import type { Layout, Protection } from './layout.ts';

/** Expected tokens of a request: messages, system prompt, tools and framing, in the provider's count. */
export function requestTokens({ overhead }: { readonly overhead: RequestOverhead }, itemTokens: number): number {
  return Math.round((itemTokens + overhead.tokens + FRAMING_TOKENS) * overhead.calibration);
}

export interface Budget {
  readonly limits: Limits;
  readonly overhead: RequestOverhead;
  readonly reasons: readonly Reason[];
}

/** Weight of the items above the budget, by the upper bound of tokens. Zero for a pass without a token reason. */
export function excessWeight({ limits, overhead, reasons }: Budget, items: Weight): Weight {
  if (!hasTokenReason(reasons)) return NO_WEIGHT;
  const bytes = limits.maxBytes === undefined ? 0 : Math.max(0, items.bytes + overhead.bytes - limits.maxBytes);
  const most = mostItemTokens({ limits, overhead });
  return { tokens: most === undefined ? 0 : Math.max(0, items.tokens - most), bytes };
}

export function mostItemTokens({ limits, overhead }: Pick<Budget, 'limits' | 'overhead'>): number | undefined {
  if (limits.maxTokens === undefined) return undefined;
  const maxMean = Math.floor(scaleTokens(limits.maxTokens, 1 / limits.upperBoundFactor));
  // Largest count that is not above the limit after calibration and rounding.
  return Math.ceil((maxMean + 0.5) / overhead.calibration) - 1 - overhead.tokens - FRAMING_TOKENS;
}

/** Bytes per token of text, estimated high. */
export const TOKEN_BYTES = 6;

/** Maximum weight of the user message that rendering puts first if a context starts with another role. */
export const PLACEHOLDER: Weight = { tokens: 12, bytes: 64 };

export function opensWithUser(items: Context['items']): boolean {
  const role = items.find(({ message }) => message.role !== 'system')?.message.role;
  return role === 'user' || role === 'summary';
}

function weighPlaceholder(items: Context['items']): Weight {
  return opensWithUser(items) ? NO_WEIGHT : PLACEHOLDER;
}

/** Weight of a context as sent, with the placeholder that rendering adds. */
export function weighSent(items: Context['items'], weight: Weight = weighItems(items)): Weight {
  return addWeights(weight, weighPlaceholder(items));
}

export function requestTokensOf(budget: { readonly overhead: RequestOverhead }, items: Context['items']): number {
  return requestTokens(budget, weighSent(items).tokens);
}

export function explainInfeasible(
  { limits, overhead }: { readonly limits: Limits; readonly overhead: RequestOverhead },
  layout: Layout,
): BudgetInfeasible {
  const tokensOf = (...kinds: readonly Protection[]): number =>
    layout.groupWeights.reduce((sum, { tokens: weight }, group) => {
      const protection = layout.protections[group];
      return protection !== undefined && kinds.includes(protection) ? sum + weight : sum;
    }, 0);
  const bound = (sum: number): number => Math.floor(scaleTokens(sum, overhead.calibration * limits.upperBoundFactor));
  const [system, pins] = [tokensOf('system', 'last_system', 'prefix'), tokensOf('pin')];
  const [live, retained] = [
    tokensOf('open_round', 'unread', 'last_user', 'input', 'request'),
    tokensOf('retention', 'first_user'),
  ];
  const placeholder = weighPlaceholder(layout.items);
  const mean = requestTokens({ overhead }, system + pins + live + retained + placeholder.tokens);
  const parts = { pinned: bound(pins + (overhead.pinTokens ?? 0)), open: bound(live), floor: bound(retained) };
  // `fixed` is the rest of the sum, so that rounding cannot change the sum.
  const fixed = upperBoundTokens(mean, limits.upperBoundFactor) - parts.pinned - parts.open - parts.floor;
  const left = weighSent(layout.items).bytes + overhead.bytes;
  const { maxBytes, maxTokens = 0 } = limits;
  const bytes = maxBytes === undefined || left <= maxBytes ? {} : { bytes: { left, max: maxBytes } };
  return { fixed, ...parts, max: maxTokens, ...bytes };
}

export interface PlanRequest extends Budget {
  readonly context: Context;
  readonly policy: Policy;
  readonly firstUserSeq?: number;
  readonly weigh: Weigh;
  /** True for a plan that is only shown. Such a plan writes no texts, so it takes a tenth of the time. */
  readonly isEstimate?: boolean;
  /** Reader of the evidence, for a caller that plans over the same context again. Default: `readEvidence`. */
  readonly evidence?: (items: readonly ContextItem[]) => Interruptible<ContextEvidence>;
}
