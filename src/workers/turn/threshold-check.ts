import { findBackoffCause } from '../../domain/compaction/backoff.ts';
import { evaluateThresholds, hasHardReason, isSendable, type Reason } from '../../domain/compaction/thresholds.ts';
import { type StepState, sinceLastPass } from '../../domain/conversation.ts';
import type { Weight } from '../../domain/message.ts';
import type { BackoffCause } from '../../domain/pass-events.ts';
import { contextSize } from '../../domain/size.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

type Sized = Pick<PreparedAgent, 'policy' | 'limits' | 'overhead'>;

/** Reasons for a pass that no turn waits for, or none. With reasons that a backoff suppresses: its cause. */
export interface SoftPass {
  readonly reasons: readonly Reason[];
  readonly backoff?: BackoffCause;
}

export type StepDecision =
  /** Send the request. If there are reasons, also request a soft pass, which runs while the turn goes on. */
  | ({ readonly kind: 'send'; readonly size: Weight } & SoftPass)
  /** Ask for a pass and wait for its end. */
  | { readonly kind: 'wait'; readonly size: Weight; readonly reasons: readonly Reason[] }
  /** The request is larger than the window, and the step has no wait left. */
  | { readonly kind: 'refuse'; readonly size: Weight };

/**
 * The threshold check before a model step. Reads the conversation's state alone, without messages.
 * @param mayWait true if the step has a wait for a pass left
 */
export function decideStep(agent: Sized, state: StepState, mayWait: boolean): StepDecision {
  const { size, reasons } = evaluate(agent, state, false);
  if (hasHardReason(reasons) && mayWait) return { kind: 'wait', size, reasons };
  if (!isSendable(agent.limits, size.tokens)) return { kind: 'refuse', size };
  // A step with a hard reason has waited already. A soft pass would not help it.
  return { kind: 'send', size, ...(hasHardReason(reasons) ? { reasons: [] } : checkBackoff(state, size, reasons)) };
}

/** The threshold check after a completed turn. */
export function decideTurnEnd(agent: Sized, state: StepState): SoftPass {
  const { size, reasons } = evaluate(agent, state, true);
  return checkBackoff(state, size, reasons);
}

function evaluate(agent: Sized, state: StepState, hasTurnEnded: boolean): { size: Weight; reasons: Reason[] } {
  const size = contextSize(state.size, agent.overhead);
  const measures = { ...sinceLastPass(state), tokens: size.tokens, hasTurnEnded };
  return { size, reasons: evaluateThresholds(agent.policy, agent.limits, measures) };
}

function checkBackoff({ passId, backoff }: StepState, { tokens }: Weight, reasons: readonly Reason[]): SoftPass {
  if (reasons.length === 0 || passId !== undefined) return { reasons: [] };
  const cause = findBackoffCause(backoff, tokens);
  return cause === undefined ? { reasons } : { reasons: [], backoff: cause };
}
