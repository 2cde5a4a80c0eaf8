import { type StepRecord, TURN_LIMITS, type WaitRequest } from '../../domain/turn.ts';

/** A step waits for one pass per cause: a second pass over the same log would not make the context smaller. */
export type WaitCause = 'threshold' | 'overflow' | 'rollback';

/** The waits of one model step, read from the marks among the steps of its turn. */
export interface StepWaits {
  /** Key of the model step. */
  readonly step: string;
  /** Wait for the pass that a threshold asks for. */
  readonly threshold: 'available' | 'used';
  /** Wait for the pass that a request asks for whose size the provider refused. */
  readonly overflow: 'available' | 'requested' | 'used';
  /** One more wait, granted when the version of an earlier pass was rolled back under the step. */
  readonly rollback: 'not_granted' | 'available' | 'used';
  /** Passes that ended without settling the size. They use up no wait (I13). */
  readonly unsettledPasses: number;
  /** Waits for the provider, limited by `maxSuspensions`. */
  readonly retries: number;
}

export type WaitEvent = 'size_refused' | 'rolled_back' | 'pass_settled' | 'pass_unsettled' | 'retry_due';

export interface WaitTransition {
  /** Step key that records the event. Recording it twice changes nothing (I5). */
  readonly mark: string;
  readonly waits: StepWaits;
}

/** The transitions. A caller records the mark before it acts on the new state. */
export function applyWaitEvent(waits: StepWaits, event: WaitEvent): WaitTransition {
  const { step } = waits;
  switch (event) {
    case 'size_refused': {
      const overflow = waits.overflow === 'available' ? 'requested' : waits.overflow;
      return { mark: `overflow-${step}`, waits: { ...waits, overflow } };
    }
    case 'rolled_back': {
      const rollback = waits.rollback === 'not_granted' ? 'available' : waits.rollback;
      return { mark: `rollback-${step}`, waits: { ...waits, rollback } };
    }
    case 'pass_settled': {
      const cause = causeOfWait(waits);
      return { mark: usedMark(cause, step), waits: { ...waits, [cause]: 'used' } };
    }
    case 'pass_unsettled': {
      const unsettledPasses = waits.unsettledPasses + 1;
      return { mark: `unsettled-${step}-${unsettledPasses}`, waits: { ...waits, unsettledPasses } };
    }
    case 'retry_due': {
      const retries = waits.retries + 1;
      return { mark: `waited-retry-${step}-${retries}`, waits: { ...waits, retries } };
    }
  }
}

/** Reads the state back from the marks that `applyWaitEvent` returned. */
export function readStepWaits(steps: ReadonlyMap<string, StepRecord>, step: string): StepWaits {
  const pick = <State>(states: readonly (readonly [mark: string, State])[], initial: State): State =>
    states.find(([mark]) => steps.has(mark))?.[1] ?? initial;
  const count = (prefix: string): number => [...steps.keys()].filter((key) => key.startsWith(prefix)).length;
  return {
    step,
    threshold: pick<StepWaits['threshold']>([[usedMark('threshold', step), 'used']], 'available'),
    overflow: pick<StepWaits['overflow']>(
      [
        [usedMark('overflow', step), 'used'],
        [`overflow-${step}`, 'requested'],
      ],
      'available',
    ),
    rollback: pick<StepWaits['rollback']>(
      [
        [usedMark('rollback', step), 'used'],
        [`rollback-${step}`, 'available'],
      ],
      'not_granted',
    ),
    unsettledPasses: count(`unsettled-${step}-`),
    retries: count(`waited-retry-${step}-`),
  };
}

export function mayWaitForPass(waits: StepWaits, cause: 'threshold' | 'overflow'): boolean {
  return waits[cause] !== 'used' || waits.rollback === 'available';
}

export function hasWaitedForPass({ threshold, overflow }: StepWaits): boolean {
  return threshold === 'used' || overflow === 'used';
}

/** The wait that the settled pass uses up. A granted wait counts first, because it was granted last. */
function causeOfWait({ rollback, overflow }: StepWaits): WaitCause {
  if (rollback === 'available') return 'rollback';
  return overflow === 'requested' ? 'overflow' : 'threshold';
}

function usedMark(cause: WaitCause, step: string): string {
  return `waited-${cause}-${step}`;
}

/** @param passId the pass that was asked for */
export function waitForPass(step: string, passId: string): WaitRequest {
  return { for: 'compaction', step, waitMs: TURN_LIMITS.compactionWaitMs, calls: [], passId };
}

/** The first retry delay. It doubles with each wait of the same step. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;

/**
 * @param retryAfterMs the provider's own delay. A provider in an outage may say "now" each time, so ours is the least.
 */
export function waitForRetry({ step, retries }: Pick<StepWaits, 'step' | 'retries'>, retryAfterMs = 0): WaitRequest {
  const backoffMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** retries);
  return { for: 'retry', step, waitMs: Math.max(backoffMs, retryAfterMs), calls: [] };
}
