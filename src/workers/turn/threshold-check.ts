import { findBackoffCause } from '../../compaction/backoff.ts';
import { evaluateThresholds, isSendable } from '../../compaction/thresholds.ts';
import { type StepState, sinceLastPass } from '../../domain/conversation.ts';
import type { Weight } from '../../domain/message.ts';
import { hasHardReason, type Reason } from '../../domain/pass.ts';
import type { BackoffCause } from '../../domain/pass-events.ts';
import { contextSize } from '../../domain/size.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

type Sized = Pick<PreparedAgent, 'policy' | 'limits' | 'overhead'>;

/**
 * Reasons for a soft compaction pass, for which the turn does not wait. Empty if there are none. If a backoff
 * suppresses the reasons, the value is the cause of the backoff.
 */
export interface SoftPass {
  readonly reasons: readonly Reason[];
  readonly backoff?: BackoffCause;
}

export type StepDecision =
  /** Send the request. If there are reasons, also request a compaction pass that runs while the turn continues. */
  | ({ readonly kind: 'send'; readonly size: Weight } & SoftPass)
  /** Request a compaction pass and wait until it ends. */
  | { readonly kind: 'wait'; readonly size: Weight; readonly reasons: readonly Reason[] }
  /** The request exceeds the model's window, and the step has used up its waits. */
  | { readonly kind: 'refuse'; readonly size: Weight };

/**
 * Decides before a model step whether to send its request, to compact first, or to fail. Needs only the conversation's
 * state, not its messages.
 * @param mayWait true if the step may still wait for a compaction pass
 */
export function decideStep(agent: Sized, state: StepState, mayWait: boolean): StepDecision {
  const { size, reasons } = evaluate(agent, state, false);
  if (hasHardReason(reasons) && mayWait) return { kind: 'wait', size, reasons };
  // A provider's count makes a turn wait, but only turnfold's own count makes it fail.
  const { anchor: _, ...uncounted } = state.size;
  const own = contextSize(uncounted, agent.overhead).tokens;
  if (!isSendable(agent.limits, Math.min(own, size.tokens))) return { kind: 'refuse', size };
  // A step with a hard reason (for which turns wait) has already waited for a pass. A further pass in the background
  // would not help.
  return { kind: 'send', size, ...(hasHardReason(reasons) ? { reasons: [] } : checkBackoff(state, size, reasons)) };
}

/** Decides after a completed turn whether to request a compaction pass. */
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
