import type { ClaimedTurn } from '../../domain/ports/turn-store.ts';
import type { StepRecord } from '../../domain/turn.ts';

/*
 * Keys of a turn's steps. They are deterministic, so a repeated step records its outcome once (I5). Marks of waits have keys,
 * too (`step-waits.ts`).
 */

type Steps = ReadonlyMap<string, StepRecord>;

/** @param number from 1 */
export function modelKey(number: number): string {
  return `model-${number}`;
}

export function toolKey(callId: string): string {
  return `tool-${callId}`;
}

/** Number of model calls with an outcome. */
export function countModelSteps(steps: Steps): number {
  return countKeys(steps, /^model-/);
}

/** Number of model and tool calls, which `maxSteps` limits. */
export function countSteps(steps: Steps): number {
  return countKeys(steps, /^(model|tool)-/);
}

function countKeys(steps: Steps, pattern: RegExp): number {
  return [...steps.keys()].filter((key) => pattern.test(key)).length;
}

/**
 * Key by which a provider or a tool recognizes a repeated step. It contains the turn's time of acceptance, because an erased
 * conversation may be created again with a turn of the same name.
 */
export function idempotencyKey({ claimed }: { readonly claimed: ClaimedTurn }, step: string): string {
  const { conversation, turn } = claimed.lease;
  return `${conversation.tenant}/${conversation.id}/${turn}/${claimed.acceptedAt}/${step}`;
}
