import type { Limits } from '../domain/limits.ts';
import type { Reason } from '../domain/pass.ts';
import { REASONS } from '../domain/pass.ts';
import type { Policy } from '../domain/policy.ts';
import { upperBoundTokens } from '../domain/size.ts';

export interface ThresholdMeasures {
  readonly tokens: number;
  readonly messages: number;
  readonly turns: number;
  readonly hasTurnEnded: boolean;
}

/** Lists every reason that holds now, in the order of `REASONS`. Every comparison is `>=`. */
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

/** True if a turn must wait for its pass: at the hard limit, or if the provider could refuse the size. */
export function isOverHardLimit(limits: Limits, tokens: number): boolean {
  return reaches(tokens, limits.hardTokens) || !isSendable(limits, tokens);
}

export function isSendable(limits: Limits, tokens: number): boolean {
  return limits.usable === undefined || upperBoundTokens(tokens, limits.upperBoundFactor) <= limits.usable;
}

function reaches(value: number, threshold: number | undefined): boolean {
  return threshold !== undefined && value >= threshold;
}
