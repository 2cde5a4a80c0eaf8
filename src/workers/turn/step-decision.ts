import { findBackoffCause } from '../../compaction/backoff.ts';
import { evaluateThresholds, isSendable } from '../../compaction/thresholds.ts';
import { type StepState, sinceLastPass } from '../../domain/conversation.ts';
import type { Weight } from '../../domain/message.ts';
import { hasHardReason, type Reason } from '../../domain/pass.ts';
import type { BackoffCause } from '../../domain/pass-events.ts';
import { contextSize } from '../../domain/size.ts';
import { type StepRecord, TURN_LIMITS, type WaitRequest } from '../../domain/turn.ts';
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

/**
 * Why a model step waits for a compaction pass. A step waits only once for each cause: a second pass over the same log
 * would not make the context smaller.
 */
type WaitCause = 'threshold' | 'overflow' | 'rollback';

/** The waits of one model step. These waits are computed from marker records among the turn's steps. */
export interface StepWaits {
  readonly step: string;
  /** The step's wait for a compaction pass because its context meets a hard threshold: still available, or used. */
  readonly threshold: 'available' | 'used';
  /**
   * The step's wait for a compaction pass because the provider refused its request as too long: still available,
   * requested or used.
   */
  readonly overflow: 'available' | 'requested' | 'used';
  /**
   * One more wait for a compaction pass. This wait is granted when the provider refused the result of the earlier pass,
   * and that result was rolled back.
   */
  readonly rollback: 'not_granted' | 'available' | 'used';
  /**
   * Number of compaction passes that ended before the context had its final size, for example because the pass failed.
   * Such a pass does not use up a wait of the step (invariant I13).
   */
  readonly unsettledPasses: number;
  /** Number of retries after failed calls, up to the number that makes the delay longer. */
  readonly retries: number;
}

export type WaitEvent = 'size_refused' | 'rolled_back' | 'pass_settled' | 'pass_unsettled' | 'retry_due';

interface WaitTransition {
  /**
   * Key of the marker record for the event that changes a step's waits. Recording the marker a second time changes
   * nothing (invariant I5).
   */
  readonly mark: string;
  readonly waits: StepWaits;
}

/**
 * Computes the waits of a model step after an event. The caller stores the marker record `mark` before it acts on them.
 */
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

/** Computes the waits of a model step from the marker records whose keys `applyWaitEvent` returned. */
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

/** Returns which wait the ended compaction pass has used up. The wait that was granted last comes first. */
function causeOfWait({ rollback, overflow }: StepWaits): WaitCause {
  if (rollback === 'available') return 'rollback';
  return overflow === 'requested' ? 'overflow' : 'threshold';
}

function usedMark(cause: WaitCause, step: string): string {
  return `waited-${cause}-${step}`;
}

/**
 * Builds the request to suspend a model step until a compaction pass has ended.
 * @param passId id of the compaction pass
 */
export function waitForPass(step: string, passId: string): WaitRequest {
  return { for: 'compaction', step, waitMs: TURN_LIMITS.compactionWaitMs, calls: [], passId };
}

/** ms before the first retry. The delay doubles with each retry of the same step. */
const RETRY_FIRST_MS = 1_000;
/** Retries that double the delay. Later ones are not recorded: a step may wait for its provider for a day. */
const MAX_DOUBLINGS = 6;
/** An hour. A provider may name a far time by mistake, or answer again earlier. A gate is paused as long at most. */
const LONGEST_ASKED_MS = 3_600_000;

/**
 * Builds the request to suspend a model step before the next retry of its call. Random jitter spreads the retries, because
 * all turns see an outage of their provider at the same time.
 * @param retryAfterMs delay that the provider asks for. It can only lengthen turnfold's own, because a provider in an outage
 * may ask for an immediate retry each time.
 * @param random a number from 0 to 1
 */
export function waitForRetry(
  { step, retries }: Pick<StepWaits, 'step' | 'retries'>,
  retryAfterMs = 0,
  random = Math.random(),
): WaitRequest {
  const backoffMs = RETRY_FIRST_MS * 2 ** Math.min(retries, MAX_DOUBLINGS);
  const waitMs = Math.min(Math.max(0, retryAfterMs), LONGEST_ASKED_MS) + Math.ceil(backoffMs * random);
  return { for: 'retry', step, waitMs, calls: [] };
}

/** Builds the request to suspend a model step until the time that the gate of its model has chosen. */
export function waitAtGate(step: string, waitMs: number): WaitRequest {
  return { for: 'retry', step, waitMs: Math.max(0, waitMs), calls: [], isHeld: true };
}

/** Returns true if a retry of the step is recorded when its wait ends. */
export function countsAsRetry({ retries }: Pick<StepWaits, 'retries'>, isHeld: boolean | undefined): boolean {
  return isHeld !== true && retries < MAX_DOUBLINGS;
}
