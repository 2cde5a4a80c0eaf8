import { TurnfoldError } from './errors.ts';
import type { Policy } from './policy.ts';

/** What of a model the limits depend on. Sizes in tokens. */
export interface ModelWindow {
  /** tokens that a request and its answer may have together */
  readonly windowTokens: number;
  /** most tokens of one answer */
  readonly outputCapTokens: number;
  /** mean × this is the upper bound that guarantees rest on */
  readonly upperBoundFactor: number;
  /** largest request that the provider takes, in bytes */
  readonly maxRequestBytes?: number;
}

/** What every request of an agent holds before the first message. */
export interface FixedWeight {
  readonly systemTokens: number;
  readonly toolTokens: number;
  readonly pinTokens: number;
}

/** Tokens that a provider's format adds to a request. */
export const FRAMING_TOKENS = 3;
/** What a window keeps free for an answer, at most. */
export const MAX_RESERVE_TOKENS = 8192;

/** Thresholds in tokens, resolved for one model. An absent one cannot be met. */
export interface Limits {
  /** window − reserved output */
  readonly usable?: number;
  readonly maxTokens?: number;
  readonly tokenThreshold?: number;
  readonly ratioTokens?: number;
  readonly hardTokens?: number;
  readonly upperBoundFactor: number;
  /** of the messages' own texts, system and tools, in bytes */
  readonly maxBytes?: number;
}

/** Of the provider's cap, what texts may take: the rest is for what a format puts around them and for escapes in JSON. */
const TEXT_BYTES_SHARE = 0.8;

/** @param model absent where a plan is made without one: ratios are off then */
export function resolveLimits(policy: Policy, model?: ModelWindow): Limits {
  const { tokenThreshold } = policy;
  if (model === undefined) {
    return { upperBoundFactor: 1, ...defined({ maxTokens: policy.maxTokens, tokenThreshold }) };
  }
  const usable = model.windowTokens - Math.min(model.outputCapTokens, MAX_RESERVE_TOKENS);
  const hardTokens = scaleTokens(usable, policy.hardRatio);
  return {
    usable,
    maxTokens: policy.maxTokens ?? Math.floor(usable * 0.5),
    ratioTokens: softLimit(policy, usable, model.upperBoundFactor).tokens,
    hardTokens,
    upperBoundFactor: model.upperBoundFactor,
    ...defined({ tokenThreshold, maxBytes: maxTextBytes(model) }),
  };
}

interface SoftLimit {
  readonly tokens: number;
  /** how `tokens` comes about, each factor by its name */
  readonly sum: string;
}

/**
 * The share of usable, but where turns would wait before it is reached: a model whose counts may be off by a third blocks at
 * three quarters of its window. There it keeps its distance, as the policy's two shares have it.
 */
function softLimit({ thresholdRatio, hardRatio }: Policy, usable: number, factor: number): SoftLimit {
  const ratioTokens = scaleTokens(usable, thresholdRatio);
  const sendableTokens = scaleTokens(usable, 1 / factor);
  if (sendableTokens > ratioTokens) {
    return { tokens: ratioTokens, sum: `thresholdRatio ${thresholdRatio} × usable ${usable}` };
  }
  const hardTokens = scaleTokens(usable, hardRatio);
  const distance = Math.min(1, thresholdRatio / hardRatio);
  const share = distance < 1 ? ` × thresholdRatio ${thresholdRatio} ÷ hardRatio ${hardRatio}` : '';
  return sendableTokens < hardTokens
    ? {
        tokens: scaleTokens(sendableTokens, distance),
        sum: `usable ${usable} ÷ upper-bound factor ${factor} of the model${share}`,
      }
    : { tokens: scaleTokens(hardTokens, distance), sum: `hardRatio ${hardRatio} × usable ${usable}${share}` };
}

/**
 * The limits of a pass for which the provider refused the size: whatever our count of it is, half of that is the goal. Its
 * window is smaller than its profile says, or it counts more.
 * @param refusedTokens upper bound of the size that was refused
 */
export function limitsAfterOverflow(limits: Limits, refusedTokens: number): Limits {
  const half = Math.floor(refusedTokens / 2);
  return { ...limits, maxTokens: Math.max(1, Math.min(limits.maxTokens ?? half, half)) };
}

function maxTextBytes({ maxRequestBytes }: ModelWindow): number | undefined {
  return maxRequestBytes === undefined ? undefined : Math.floor(maxRequestBytes * TEXT_BYTES_SHARE);
}

/**
 * Tokens × factor as it is in decimal: 100 × 0.55 is 55, not its binary neighbour 55.00000000000001, which 55 tokens would
 * not reach.
 */
export function scaleTokens(tokens: number, factor: number): number {
  return Number((tokens * factor).toPrecision(12));
}

/**
 * Refuses, when it is loaded, a policy under which passes could never settle down.
 * @throws invalid_policy with the sum
 */
export function checkLimits(policy: Policy, limits: Limits, fixed: FixedWeight): void {
  const { maxTokens, usable, tokenThreshold } = limits;
  if (maxTokens === undefined) return;
  const { systemTokens, toolTokens, pinTokens } = fixed;
  const fixedTokens = systemTokens + toolTokens + pinTokens;
  if (fixedTokens >= maxTokens) {
    refuse(
      'maxTokens',
      `system ${systemTokens} + tools ${toolTokens} + pins ${pinTokens} = ${fixedTokens} >= maxTokens ${maxTokens}`,
    );
  }
  if (tokenThreshold !== undefined && tokenThreshold < maxTokens) {
    refuse(
      'tokenThreshold',
      `tokenThreshold ${tokenThreshold} < maxTokens ${maxTokens}: every pass would be followed by the next`,
    );
  }
  if (usable === undefined) return;
  const { ratioTokens = usable, hardTokens = usable } = limits;
  if (ratioTokens < maxTokens) {
    const { sum } = softLimit(policy, usable, limits.upperBoundFactor);
    refuse('thresholdRatio', `${sum} = ${showTokens(ratioTokens)} < maxTokens ${maxTokens}`);
  }
  if (tokenThreshold !== undefined && tokenThreshold > hardTokens) {
    refuse(
      'tokenThreshold',
      `tokenThreshold ${tokenThreshold} > hardRatio ${policy.hardRatio} × usable ${usable} = ${showTokens(hardTokens)}`,
    );
  }
}

/** At most two decimals. */
function showTokens(tokens: number): string {
  return String(Number(tokens.toFixed(2)));
}

function refuse(field: string, sum: string): never {
  throw new TurnfoldError('invalid_policy', `${field}: ${sum}`, { field, details: { sum } });
}

function defined<T extends Record<string, number | undefined>>(values: T): { [K in keyof T]?: number } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: number;
  };
}
