import { fieldError } from './errors.ts';
import type { Policy } from './policy.ts';

/** Limits of a model, in tokens. */
export interface ModelWindow {
  /** Maximum tokens of a request plus its answer. */
  readonly windowTokens: number;
  /** Maximum tokens of one answer. */
  readonly outputCapTokens: number;
  /** Factor that turns turnfold's token count into an upper bound, which hard limits use. */
  readonly upperBoundFactor: number;
  /** Maximum bytes of one request that the provider accepts. */
  readonly maxRequestBytes?: number;
}

/** Parts of a request that compaction cannot shrink. */
export interface FixedWeight {
  /** Tokens of the system prompt. */
  readonly systemTokens: number;
  /** Tokens of the tool schemas. */
  readonly toolTokens: number;
  /** Tokens of the policy's pinned texts. */
  readonly pinTokens: number;
}

/** Tokens that a provider's message format adds to each request. */
export const FRAMING_TOKENS = 3;
/** Maximum tokens of the window that are reserved for an answer. */
export const MAX_RESERVE_TOKENS = 8192;

/** Limits in tokens. An absent threshold is off. */
export interface Limits {
  /** Window minus the reserved output. */
  readonly usable?: number;
  readonly maxTokens?: number;
  readonly tokenThreshold?: number;
  readonly ratioTokens?: number;
  readonly hardTokens?: number;
  readonly upperBoundFactor: number;
  /** Maximum bytes of the plain texts of messages, system prompt and tools. */
  readonly maxBytes?: number;
}

/** Share of the provider's byte limit. The rest is for JSON syntax and escapes. */
const TEXT_BYTES_SHARE = 0.8;

/** @param model absent when planning without a model. Thresholds that are a share of the window are then off */
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
  readonly sum: string;
}

/**
 * A soft pass must come before the hard limit, which comes earlier with an imprecise count. An upper-bound factor of
 * 1.33 puts the hard limit at three quarters of the window, and the soft limit shrinks in proportion.
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
 * Limits after a refused request: the window is smaller than configured, or the provider counts more tokens. The
 * target is half of the refused size.
 */
export function limitsAfterOverflow(limits: Limits, refusedTokens: number): Limits {
  const half = Math.floor(refusedTokens / 2);
  return { ...limits, maxTokens: Math.max(1, Math.min(limits.maxTokens ?? half, half)) };
}

function maxTextBytes({ maxRequestBytes }: ModelWindow): number | undefined {
  return maxRequestBytes === undefined ? undefined : Math.floor(maxRequestBytes * TEXT_BYTES_SHARE);
}

/** Multiplies without errors of binary fractions: with 100 × 0.55 = 55.00000000000001, 55 tokens miss the threshold. */
export function scaleTokens(tokens: number, factor: number): number {
  return Number((tokens * factor).toPrecision(12));
}

/** Refuses a policy under which each pass would trigger the next. @throws invalid_policy with the calculation */
export function checkLimits(policy: Policy, limits: Limits, fixed: FixedWeight): void {
  const { maxTokens, usable, tokenThreshold } = limits;
  if (maxTokens === undefined) return;
  const { systemTokens, toolTokens, pinTokens } = fixed;
  const fixedTokens = systemTokens + toolTokens + pinTokens;
  if (fixedTokens >= maxTokens) {
    refuse(
      'maxTokens',
      `system ${systemTokens} + tools ${toolTokens} + pins ${pinTokens} = ${fixedTokens} >= maxTokens ${maxTokens}. No tokens are left for messages. Raise maxTokens`,
    );
  }
  if (tokenThreshold !== undefined && tokenThreshold < maxTokens) {
    refuse(
      'tokenThreshold',
      `tokenThreshold ${tokenThreshold} < maxTokens ${maxTokens}. Each compaction pass would trigger the next. Raise tokenThreshold to at least maxTokens`,
    );
  }
  if (usable === undefined) return;
  const { ratioTokens = usable, hardTokens = usable } = limits;
  if (ratioTokens < maxTokens) {
    const { sum } = softLimit(policy, usable, limits.upperBoundFactor);
    refuse(
      'thresholdRatio',
      `${sum} = ${showTokens(ratioTokens)} < maxTokens ${maxTokens}. Each compaction pass would trigger the next. Lower maxTokens`,
    );
  }
  if (tokenThreshold !== undefined && tokenThreshold > hardTokens) {
    refuse(
      'tokenThreshold',
      `tokenThreshold ${tokenThreshold} > hardRatio ${policy.hardRatio} × usable ${usable} = ${showTokens(hardTokens)}. Turns would wait for compaction before it is requested. Lower tokenThreshold`,
    );
  }
}

function showTokens(tokens: number): string {
  return String(Number(tokens.toFixed(2)));
}

function refuse(field: string, sum: string): never {
  throw fieldError('invalid_policy', field, sum, { details: { sum } });
}

function defined<T extends Record<string, number | undefined>>(values: T): { [K in keyof T]?: number } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: number;
  };
}
