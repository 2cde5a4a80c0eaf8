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

/** Reasons for a pass that runs while the turn continues. Empty if a backoff suppresses them. */
export interface SoftPass {
  readonly reasons: readonly Reason[];
  readonly backoff?: BackoffCause;
}

export type StepDecision =
  /** Send the request. If there are reasons, also request a pass that runs while the turn continues. */
  | ({ readonly kind: 'send'; readonly size: Weight } & SoftPass)
  | { readonly kind: 'wait'; readonly size: Weight; readonly reasons: readonly Reason[] }
  /** The context is too large, and the model call may not wait for another pass. */
  | { readonly kind: 'refuse'; readonly size: Weight };

/** Decides what happens before a model call. @param mayWait true if the call may still wait for a pass */
export function decideStep(agent: Sized, state: StepState, mayWait: boolean): StepDecision {
  const { size, reasons } = evaluate(agent, state, false);
  if (hasHardReason(reasons) && mayWait) return { kind: 'wait', size, reasons };
  // A provider's count can make a turn wait, but only turnfold's own count can make a turn fail.
  const { anchor: _, ...uncounted } = state.size;
  const own = contextSize(uncounted, agent.overhead).tokens;
  if (!isSendable(agent.limits, Math.min(own, size.tokens))) return { kind: 'refuse', size };
  // A call with a hard reason has already waited for a pass, and another pass in the background would not help.
  return { kind: 'send', size, ...(hasHardReason(reasons) ? { reasons: [] } : checkBackoff(state, size, reasons)) };
}

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

/** Why a model call waits for a pass. It waits once for each cause: a second pass over the same log would not help. */
type WaitCause = 'threshold' | 'overflow' | 'rollback';

/** The waits of one model call, computed from marks among the recorded steps of its turn. */
export interface StepWaits {
  readonly step: string;
  /** The wait because the context meets a hard threshold. */
  readonly threshold: 'available' | 'used';
  /** The wait because the provider refused the request as too long. */
  readonly overflow: 'available' | 'requested' | 'used';
  /** One more wait, granted if the provider refused the version that a pass made and the turn rolled it back. */
  readonly rollback: 'not_granted' | 'available' | 'used';
  /** Number of passes that ended without deciding on the size. They use up no wait (I13). */
  readonly unsettledPasses: number;
  readonly retries: number;
}

export type WaitEvent = 'size_refused' | 'rolled_back' | 'pass_settled' | 'pass_unsettled' | 'retry_due';

interface WaitTransition {
  /** Key of the record for the event. A second record with this key changes nothing (I5). */
  readonly mark: string;
  readonly waits: StepWaits;
}

/** Applies an event to the waits. The caller stores `mark` before it acts on the new waits. */
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

export function readStepWaits(steps: ReadonlyMap<string, StepRecord>, step: string): StepWaits {
  const overflow = steps.has(`overflow-${step}`) ? 'requested' : 'available';
  const rollback = steps.has(`rollback-${step}`) ? 'available' : 'not_granted';
  const count = (prefix: string): number => [...steps.keys()].filter((key) => key.startsWith(prefix)).length;
  return {
    step,
    threshold: steps.has(usedMark('threshold', step)) ? 'used' : 'available',
    overflow: steps.has(usedMark('overflow', step)) ? 'used' : overflow,
    rollback: steps.has(usedMark('rollback', step)) ? 'used' : rollback,
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

/** Cause of the wait that ends now. A wait that was granted later is used up first. */
function causeOfWait({ rollback, overflow }: StepWaits): WaitCause {
  if (rollback === 'available') return 'rollback';
  return overflow === 'requested' ? 'overflow' : 'threshold';
}

function usedMark(cause: WaitCause, step: string): string {
  return `waited-${cause}-${step}`;
}

export function waitForPass(step: string, passId: string): WaitRequest {
  return { for: 'compaction', step, waitMs: TURN_LIMITS.compactionWaitMs, calls: [], passId };
}

/** ms before the first retry of a model call. The delay doubles with each retry. */
const RETRY_FIRST_MS = 1_000;
/** Number of doublings. Later retries are not recorded, because a model call may be retried for a day. */
const MAX_DOUBLINGS = 6;
/** Longest delay that a provider may ask for, because providers make mistakes. Also the longest pause of a gate. */
const LONGEST_ASKED_MS = 3_600_000;

/**
 * Waits before the next retry, with jitter, because all turns see an outage of their provider at once.
 * @param retryAfterMs delay that the provider asked for. It only lengthens our delay: a provider in an outage may
 * always ask for an immediate retry
 * @param random from 0 to 1
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

export function waitAtGate(step: string, waitMs: number): WaitRequest {
  return { for: 'retry', step, waitMs: Math.max(0, waitMs), calls: [], isHeld: true };
}

export function countsAsRetry({ retries }: Pick<StepWaits, 'retries'>, isHeld: boolean | undefined): boolean {
  return isHeld !== true && retries < MAX_DOUBLINGS;
}
