import { findBackoffCause } from '../../domain/compaction/backoff.ts';
import { evaluateThresholds, hasHardReason, isSendable, type Reason } from '../../domain/compaction/thresholds.ts';
import { type StepState, sinceLastPass } from '../../domain/conversation.ts';
import type { Weight } from '../../domain/message.ts';
import type { BackoffCause } from '../../domain/pass-events.ts';
import { contextSize } from '../../domain/size.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

type Sized = Pick<PreparedAgent, 'policy' | 'limits' | 'overhead'>;

/** Reasons for a pass that nobody waits for; empty where none is worth asking for. `hold`: why, though there were some. */
export interface SoftPass {
  readonly reasons: readonly Reason[];
  readonly hold?: BackoffCause;
}

/** What a turn does before it sends a request of this size. */
export type StepDecision =
  /** send; with reasons: ask for a soft pass, which runs behind the turn */
  | ({ readonly kind: 'send'; readonly size: Weight } & SoftPass)
  /** ask for a pass and wait for its end */
  | { readonly kind: 'wait'; readonly size: Weight; readonly reasons: readonly Reason[] }
  /** larger than the window, and nothing is left to wait for */
  | { readonly kind: 'refuse'; readonly size: Weight };

/**
 * Decides from a conversation's state alone, without its messages.
 * @param mayWait this step may wait for a pass: it does so once, and once more after a rollback
 */
export function decideStep(agent: Sized, state: StepState, mayWait: boolean): StepDecision {
  const { size, reasons } = evaluate(agent, state, false);
  if (hasHardReason(reasons) && mayWait) return { kind: 'wait', size, reasons };
  if (!isSendable(agent.limits, size.tokens)) return { kind: 'refuse', size };
  // A hard one has waited already, and is not helped by a pass behind it.
  return { kind: 'send', size, ...(hasHardReason(reasons) ? { reasons: [] } : checkBackoff(state, size, reasons)) };
}

/** Whether to ask for a pass once a turn is completed. */
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
  const hold = findBackoffCause(backoff, tokens);
  return hold === undefined ? { reasons } : { reasons: [], hold };
}
