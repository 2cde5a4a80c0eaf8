import type { Limits } from '../limits.ts';
import type { Policy } from '../policy.ts';
import { upperBoundTokens } from '../size.ts';

export const REASONS = [
  'token_threshold',
  'ratio',
  'turn_threshold',
  'message_threshold',
  'turn_end',
  'hard_limit',
  'overflow',
  'manual',
] as const;

/** Why a pass is wanted. */
export type Reason = (typeof REASONS)[number];

const TOKEN_REASONS: ReadonlySet<Reason> = new Set(['token_threshold', 'ratio', 'hard_limit', 'overflow', 'manual']);
const HARD_REASONS: ReadonlySet<Reason> = new Set(['hard_limit', 'overflow', 'manual']);

/** Only with a token reason is `maxTokens` a goal. */
export function hasTokenReason(reasons: readonly Reason[]): boolean {
  return reasons.some((reason) => TOKEN_REASONS.has(reason));
}

/** With a hard reason the budget wins over the retention window. */
export function hasHardReason(reasons: readonly Reason[]): boolean {
  return reasons.some((reason) => HARD_REASONS.has(reason));
}

export interface ThresholdMeasures {
  /** mean size of the next request, in tokens */
  readonly tokens: number;
  /** messages and turns since the head at which the last pass ended */
  readonly messages: number;
  readonly turns: number;
  /** a turn has just been completed */
  readonly hasTurnEnded: boolean;
}

/** Every reason for a pass that holds now, in the order of `REASONS`. Every comparison is `>=`. */
export function evaluateThresholds(policy: Policy, limits: Limits, measures: ThresholdMeasures): Reason[] {
  if (!policy.enabled) return [];
  const { tokens } = measures;
  const isSoftOn = policy.mode !== 'manual';
  const holds: Record<Reason, boolean> = {
    token_threshold: isSoftOn && reaches(tokens, limits.tokenThreshold),
    ratio: isSoftOn && reaches(tokens, limits.ratioTokens),
    turn_threshold: isSoftOn && reaches(measures.turns, policy.turnThreshold),
    message_threshold: isSoftOn && reaches(measures.messages, policy.messageThreshold),
    turn_end: isSoftOn && policy.onTurnEnd && measures.hasTurnEnded,
    hard_limit: isOverHardLimit(limits, tokens),
    overflow: false,
    manual: false,
  };
  return REASONS.filter((reason) => holds[reason]);
}

/** From here on a turn waits for its pass: the hard share is reached, or the request could be refused as too long. */
export function isOverHardLimit(limits: Limits, tokens: number): boolean {
  return reaches(tokens, limits.hardTokens) || !isSendable(limits, tokens);
}

/** Whether the provider is sure to take a request of this size. */
export function isSendable(limits: Limits, tokens: number): boolean {
  return limits.usable === undefined || upperBoundTokens(tokens, limits.upperBoundFactor) <= limits.usable;
}

function reaches(value: number, threshold: number | undefined): boolean {
  return threshold !== undefined && value >= threshold;
}
