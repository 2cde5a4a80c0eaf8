import type { StepRecord, WaitKind } from '../../domain/turn.ts';

/** Keys of a turn's steps. Deterministic, so that a step that is run again records its outcome once. */

type Steps = ReadonlyMap<string, StepRecord>;

/** @param number from 1 */
export function modelKey(number: number): string {
  return `model-${number}`;
}

export function toolKey(callId: string): string {
  return `tool-${callId}`;
}

/** Model calls with an outcome. */
export function countModelSteps(steps: Steps): number {
  return countKeys(steps, /^model-/);
}

/** Model and tool calls together: what `maxSteps` bounds. */
export function countSteps(steps: Steps): number {
  return countKeys(steps, /^(model|tool)-/);
}

/** Key of a mark that a step asks for a pass because its provider refused the size. Written before it waits for that pass. */
export function overflowKey(step: string): string {
  return `overflow-${step}`;
}

/** What a step has waited for. A pass that the gate asked for is none for a size that the provider refused, and is waited for apart. */
type Waited = WaitKind | 'overflow';

/**
 * Key of a mark that a step has waited once more. The store counts suspensions but does not tell; without the mark a step
 * that waits for its pass, then for its provider, would wait for a pass again.
 */
export function nextWaitMark(steps: Steps, kind: WaitKind, step: string): string {
  const isForOverflow = kind === 'compaction' && steps.has(overflowKey(step)) && !hasWaited(steps, 'overflow', step);
  const waited = isForOverflow ? 'overflow' : kind;
  return `waited-${waited}-${step}-${countWaits(steps, waited, step) + 1}`;
}

export function hasWaited(steps: Steps, kind: Waited, step: string): boolean {
  return countWaits(steps, kind, step) > 0;
}

/** How often a step has waited for something. */
export function countWaits(steps: Steps, kind: Waited, step: string): number {
  return [...steps.keys()].filter((key) => key.startsWith(`waited-${kind}-${step}-`)).length;
}

function countKeys(steps: Steps, pattern: RegExp): number {
  return [...steps.keys()].filter((key) => pattern.test(key)).length;
}
