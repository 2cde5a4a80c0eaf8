import type { StepRecord } from '../../domain/turn.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';

/*
 * Keys of a turn's steps. The keys are deterministic, so that a repeated step records its outcome only once (invariant
 * I5). The marker records of waits (`step-waits.ts`) also have such keys.
 */

type Steps = ReadonlyMap<string, StepRecord>;

/** @param number number of the model step, from 1 */
export function modelKey(number: number): string {
  return `model-${number}`;
}

export function toolKey(callId: string): string {
  return `tool-${callId}`;
}

/** Number of model calls whose outcome is recorded. */
export function countModelSteps(steps: Steps): number {
  return countKeys(steps, /^model-/);
}

/** Number of model and tool calls, which the setting `maxSteps` limits. */
export function countSteps(steps: Steps): number {
  return countKeys(steps, /^(model|tool)-/);
}

function countKeys(steps: Steps, pattern: RegExp): number {
  return [...steps.keys()].filter((key) => pattern.test(key)).length;
}

/**
 * Key by which a provider or a tool recognizes that a step is repeated. It contains the time when the turn was
 * accepted: an erased conversation may be created again, with a turn of the same id.
 */
export function idempotencyKey({ claimed }: { readonly claimed: ClaimedTurn }, step: string): string {
  const { conversation, turn } = claimed.lease;
  return `${conversation.tenant}/${conversation.id}/${turn}/${claimed.acceptedAt}/${step}`;
}
