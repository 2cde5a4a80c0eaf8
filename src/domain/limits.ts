import { TurnfoldError } from './errors.ts';
import type { Policy } from './policy.ts';

/** Properties of a model from which the limits follow. Sizes are in tokens. */
export interface ModelWindow {
  /** Tokens that a request and its answer may have together. */
  readonly windowTokens: number;
  /** Tokens that one answer may have at most. */
  readonly outputCapTokens: number;
  /** Factor from our mean count to an upper bound. Guarantees rest on the upper bound. */
  readonly upperBoundFactor: number;
  /** Bytes that the provider accepts in one request. */
  readonly maxRequestBytes?: number;
}

/** Sizes of the parts that every request of an agent holds. */
export interface FixedWeight {
  readonly systemTokens: number;
  readonly toolTokens: number;
  readonly pinTokens: number;
}

/** Tokens that a provider's format adds to a request. */
export const FRAMING_TOKENS = 3;
/** Tokens of the window that are reserved for an answer, at most. */
export const MAX_RESERVE_TOKENS = 8192;

/** Thresholds in tokens, resolved for one model. An absent threshold is off. */
export interface Limits {
  /** Window − reserved output. */
  readonly usable?: number;
  readonly maxTokens?: number;
  readonly tokenThreshold?: number;
  readonly ratioTokens?: number;
  readonly hardTokens?: number;
  readonly upperBoundFactor: number;
  /** Bytes that messages, system prompt and tools may have as plain texts. */
  readonly maxBytes?: number;
}

/** Share of the provider's byte limit for texts. The rest is for the format around them and for escapes in JSON. */
const TEXT_BYTES_SHARE = 0.8;

/**
 * Resolves the thresholds of a policy for a model.
 * @param model absent for a plan without a model: its ratios are off
 */
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
  /** Formula of `tokens`, with a name for each factor. */
  readonly sum: string;
}

/**
 * Computes the size from which a soft pass is wanted: a share of the usable window. Turns may have to wait before that
 * size, if the counts of a model are uncertain. A model with a factor of 1.33 blocks at three quarters of its window.
 * There the soft limit keeps the same relative distance to the point of blocking.
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
 * Returns the limits of a pass after the provider refused a request as too long. The target is half of the refused size
 * by our count. Either the window is smaller than the profile says, or the provider counts more than we do.
 * @param refusedTokens upper bound of the refused size
 */
export function limitsAfterOverflow(limits: Limits, refusedTokens: number): Limits {
  const half = Math.floor(refusedTokens / 2);
  return { ...limits, maxTokens: Math.max(1, Math.min(limits.maxTokens ?? half, half)) };
}

function maxTextBytes({ maxRequestBytes }: ModelWindow): number | undefined {
  return maxRequestBytes === undefined ? undefined : Math.floor(maxRequestBytes * TEXT_BYTES_SHARE);
}

/** Multiplies as in decimal arithmetic. In binary, 100 × 0.55 is 55.00000000000001, which 55 tokens would not reach. */
export function scaleTokens(tokens: number, factor: number): number {
  return Number((tokens * factor).toPrecision(12));
}

/**
 * Rejects a policy under which one pass would follow the next for ever. Runs when the policy is loaded.
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
      `tokenThreshold ${tokenThreshold} < maxTokens ${maxTokens}: one pass would follow the next for ever`,
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

/** Rounds to two decimals at most. */
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
