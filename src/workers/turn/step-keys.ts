import type { StepRecord, WaitKind } from '../../domain/turn.ts';

/*
 * Keys of a turn's steps. Deterministic, so that a step that is run again records its outcome once.
 *
 * What a step may wait for, each pass once, and the marks that say so, in the order of their writing:
 *   the pass that the backoff asks for          waited-compaction-<step>-1
 *   one for a size that was refused          overflow-<step>, waited-overflow-<step>-1
 *   one after a rollback of either's         rollback-<step>, waited-rollback-<step>-1: owed from the one to the other
 *   a pass that did not settle the size      unsettled-<step>-1, -2, …: not the wait above
 *   its provider, within `maxSuspensions`    waited-retry-<step>-1, -2, …
 */

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

/** Key of a mark that a version was rolled back under a step that had waited for it. Written before the rollback. */
export function rollbackKey(step: string): string {
  return `rollback-${step}`;
}

/** What a step has waited for: `compaction` is here the pass that the backoff asked for alone. */
type Waited = WaitKind | 'overflow' | 'rollback';

/**
 * Key of a mark that a step has waited once more. The store counts suspensions but does not tell; without the mark a step
 * that waits for its pass, then for its provider, would wait for a pass again.
 */
export function nextWaitMark(steps: Steps, kind: WaitKind, step: string): string {
  const waited = kind === 'compaction' ? nameCause(steps, step) : kind;
  return `waited-${waited}-${step}-${countWaits(steps, waited, step) + 1}`;
}

/** Whether a step may wait for a pass: once for each cause, and once more after a rollback. */
export function mayWaitForPass(steps: Steps, cause: 'compaction' | 'overflow', step: string): boolean {
  return !hasWaited(steps, cause, step) || isOwedWait(steps, step);
}

export function hasWaitedForPass(steps: Steps, step: string): boolean {
  return hasWaited(steps, 'compaction', step) || hasWaited(steps, 'overflow', step);
}

/** What the pass that a step has just waited for came of. */
function nameCause(steps: Steps, step: string): Waited {
  if (isOwedWait(steps, step)) return 'rollback';
  const isForOverflow = steps.has(overflowKey(step)) && !hasWaited(steps, 'overflow', step);
  return isForOverflow ? 'overflow' : 'compaction';
}

function isOwedWait(steps: Steps, step: string): boolean {
  return steps.has(rollbackKey(step)) && !hasWaited(steps, 'rollback', step);
}

function hasWaited(steps: Steps, kind: Waited, step: string): boolean {
  return countWaits(steps, kind, step) > 0;
}

/** Key of a mark that a pass for which a step waited ended without having settled the size. */
export function nextUnsettledMark(steps: Steps, step: string): string {
  return `unsettled-${step}-${countUnsettled(steps, step) + 1}`;
}

export function countUnsettled(steps: Steps, step: string): number {
  return [...steps.keys()].filter((key) => key.startsWith(`unsettled-${step}-`)).length;
}

/** How often a step has waited for something. */
export function countWaits(steps: Steps, kind: Waited, step: string): number {
  return [...steps.keys()].filter((key) => key.startsWith(`waited-${kind}-${step}-`)).length;
}

function countKeys(steps: Steps, pattern: RegExp): number {
  return [...steps.keys()].filter((key) => pattern.test(key)).length;
}
