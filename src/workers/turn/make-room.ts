import type { PassIntake } from '../../domain/ports/pass-store.ts';
import { upperBoundTokens } from '../../domain/size.ts';
import type { TurnFailure } from '../../domain/turn.ts';
import { requestPass } from '../pass-request.ts';
import { LostTurn } from './ending.ts';
import { leaveAsTooLarge } from './leaving.ts';
import type { ModelFailure } from './model-call.ts';
import type { RunningTurn } from './running-turn.ts';
import { mayWaitForPass, waitForPass, waitForRetry } from './step-waits.ts';
import { failTurn, leaveContext, type TurnEnd } from './turn-end.ts';
import type { PassNeed, Recount } from './turn-ports.ts';

/**
 * A turn waits for at most this many passes that end without deciding on the context's size. After that, the turn
 * compacts the context itself.
 */
const MAX_UNSETTLED = 3;

/** Tells the turn loop to decide again how the model step continues, because the conversation's state has changed. */
export interface DecideAgain {
  readonly kind: 'again';
}

const AGAIN: DecideAgain = { kind: 'again' };

/**
 * Suspends a model step until a compaction pass has ended. If several passes ended without deciding on the context's
 * size, the turn compacts the context itself, without summaries. After that, the step does not wait again.
 */
export async function waitForRoom(run: RunningTurn, step: string, need: PassNeed): Promise<TurnEnd | DecideAgain> {
  const { journal } = run;
  // The turn still has its lease when it requests the compaction pass. If the pass ends before the turn is suspended,
  // the store reports that.
  if (journal.waitsOf(step).unsettledPasses < MAX_UNSETTLED) {
    return { kind: 'suspended', wait: waitForPass(step, await requestUnderLease(run, need)) };
  }
  await settleHere(run, need);
  await journal.recordWait(step, 'pass_settled');
  return AGAIN;
}

/**
 * Suspends a step whose request the provider refused as too long, until a pass has made a smaller context.
 * @returns undefined if compaction is off, or if such a pass has already ended
 */
export async function makeRoomAfterRefusal(
  run: RunningTurn,
  step: string,
  tokens: number,
): Promise<TurnEnd | DecideAgain | undefined> {
  const { prepared, journal } = run;
  if (!prepared.policy.enabled || !mayWaitForPass(journal.waitsOf(step), 'overflow')) return undefined;
  await journal.recordWait(step, 'size_refused');
  const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  return await waitForRoom(run, step, { reasons: ['overflow'], refusedTokens });
}

/**
 * Fails a step whose request is too large, but only if the request over the current context is still too large
 * (invariant I14). If the context has changed meanwhile, the worker decides again how the step continues. If a
 * compaction pass could make the request small enough, the turn runs that pass.
 * @param doesFit returns true if the request fits for the journal's state
 */
export async function failIfInfeasible(
  run: RunningTurn,
  step: string,
  { tokens, doesFit }: { readonly tokens: number; readonly doesFit: () => boolean },
): Promise<TurnEnd | DecideAgain> {
  const { prepared, journal } = run;
  if (!prepared.policy.enabled) return await failAsTooLarge(run, { tokens });
  await refresh(run);
  if (doesFit()) return AGAIN;
  const need: PassNeed = { reasons: ['hard_limit'] };
  const recount = await recountNow(run, need);
  if (recount.status === 'too_large') return await failAsTooLarge(run, { tokens, recount });
  await settleHere(run, need);
  if (doesFit()) return AGAIN;
  const why = { message: 'a compaction pass could have made the request small enough, but did not' };
  return { kind: 'suspended', wait: waitForRetry(journal.waitsOf(step)), why };
}

/**
 * Fails the turn because the provider refused a request as too long, even after a compaction pass for that reason.
 * @param refusal the provider's answer
 */
export async function failAsRefused(run: RunningTurn, tokens: number, refusal: ModelFailure): Promise<TurnEnd> {
  const { prepared } = run;
  if (!prepared.policy.enabled) return await failAsTooLarge(run, { tokens, refusal });
  const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  const recount = await recountNow(run, { reasons: ['overflow'], refusedTokens });
  return await failAsTooLarge(run, { tokens, refusal, recount });
}

export async function requestUnderLease({ ending, ports, prepared }: RunningTurn, need: PassNeed): Promise<string> {
  ending.signal.throwIfAborted();
  const { calibration } = prepared.overhead;
  const passes: PassIntake = {
    requestPass: (request) => ending.write('request', () => ports.passes.requestPass(request)),
  };
  const answer = await requestPass({ ...ports, passes }, ending.lease.conversation, { ...need, calibration });
  if (answer.status === 'gone') throw new LostTurn('gone');
  return answer.passId;
}

/** Joins the open compaction pass or requests one. Then takes the pass over and completes it in this turn. */
async function settleHere(run: RunningTurn, need: PassNeed): Promise<void> {
  await requestUnderLease(run, need);
  await run.ports.takeover.settleNow(run.ending.lease.conversation);
  await refresh(run);
}

async function refresh({ journal, ports, ending }: RunningTurn): Promise<void> {
  journal.adopt(await ports.contexts.readConversation(ending.lease.conversation));
}

async function recountNow({ ports, ending }: RunningTurn, need: PassNeed): Promise<Recount> {
  const recount = await ports.takeover.recount(ending.lease.conversation, need);
  if (recount.status === 'gone') throw new LostTurn('gone');
  return recount;
}

interface TooLarge {
  readonly tokens: number;
  readonly refusal?: ModelFailure;
  readonly recount?: Recount;
}

/**
 * Fails the turn with an error whose details list the sizes of all parts of the request. If the messages of this turn
 * alone are the cause, they leave the context.
 */
async function failAsTooLarge(run: RunningTurn, large: TooLarge): Promise<TurnEnd> {
  const failed = describeTooLarge(run, large);
  const leaves = await leaveAsTooLarge(run, large.refusal !== undefined);
  return leaves === undefined ? failed : leaveContext(failed, leaves);
}

function describeTooLarge(
  { prepared }: RunningTurn,
  { tokens, refusal, recount }: TooLarge,
): Extract<TurnEnd, { kind: 'failed' }> {
  const { limits, overhead, policy } = prepared;
  const { usable, upperBoundFactor } = limits;
  const upperBound = upperBoundTokens(tokens, upperBoundFactor);
  const sizes = { tokens, fixedTokens: overhead.tokens, upperBoundFactor, upperBoundTokens: upperBound, usable };
  const details = { ...sizes, ...describeParts(recount), ...describeCode(refusal) };
  const sum = `system and tools ${overhead.tokens} + messages ${tokens - overhead.tokens} = ${tokens} tokens`;
  const count = `${sum}, upper bound ${upperBound} (× ${upperBoundFactor}), usable window of the model ${usable ?? 'unknown'}`;
  const why = `${count}${explainParts(recount)}${explainRefusal(refusal)}`;
  return policy.enabled
    ? failTurn('budget_infeasible', `the request is too large even after compaction: ${why}`, details)
    : failTurn('context_overflow', `the request is too large and compaction is off: ${why}`, details);
}

function describeParts(recount: Recount | undefined): TurnFailure['details'] {
  return recount?.status === 'too_large' ? { ...recount.details, rules: recount.rules } : {};
}

function describeCode(refusal: ModelFailure | undefined): { readonly code?: string } {
  return refusal?.code === undefined ? {} : { code: refusal.code };
}

function explainRefusal(refusal: ModelFailure | undefined): string {
  if (refusal === undefined) return '';
  const { code, message } = refusal;
  return `. The provider refused the request as too long${code === undefined ? '' : ` (${code})`}: ${message}`;
}

function explainParts(recount: Recount | undefined): string {
  if (recount?.status !== 'too_large') return '';
  const { details, rules } = recount;
  const { fixed, pinned, open, floor, max } = details;
  const parts = `. Compaction must keep system and tools ${fixed} + pinned ${pinned} + last message and open calls ${open} + retention window ${floor} tokens, but maxTokens is ${max}`;
  return rules.length === 0 ? parts : `${parts}. A smaller context would break the rules ${rules.join(', ')}`;
}
