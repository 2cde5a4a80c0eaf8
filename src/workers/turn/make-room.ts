import type { PassIntake } from '../../domain/ports/pass-store.ts';
import { upperBoundTokens } from '../../domain/size.ts';
import type { TurnFailure } from '../../domain/turn.ts';
import { requestPass } from '../pass-request.ts';
import { writeUnderLease } from './lease-keeper.ts';
import type { ModelFailure } from './model-call.ts';
import type { RunningTurn } from './running-turn.ts';
import { waitForPass, waitForRetry } from './step-waits.ts';
import { failTurn, type TurnEnd } from './turn-end.ts';
import { LostTurn } from './turn-errors.ts';
import type { PassNeed, Recount } from './turn-ports.ts';

/** Passes that may end without settling the size. After them the turn settles the context itself. */
const MAX_UNSETTLED = 3;

/** The step is to be decided again over the journal's new state. */
export interface DecideAgain {
  readonly kind: 'again';
}

const AGAIN: DecideAgain = { kind: 'again' };

/**
 * Suspends a step until a pass has ended. After several passes that did not settle the size, the turn settles the context
 * itself without summaries. That uses up the step's wait.
 */
export async function waitForRoom(run: RunningTurn, step: string, need: PassNeed): Promise<TurnEnd | DecideAgain> {
  const { journal } = run;
  // Asked for under the lease: if the pass ends before the suspension, the store reports that.
  if (journal.waitsOf(step).unsettledPasses < MAX_UNSETTLED) {
    return { kind: 'suspended', wait: waitForPass(step, await requestUnderLease(run, need)) };
  }
  await settleHere(run, need);
  await journal.recordWait(step, 'pass_settled');
  return AGAIN;
}

/**
 * Fails a step whose request does not fit, but only if that holds for the context of this moment (I14). If the context has
 * changed, the step is decided again. If a pass could make room, the turn runs that pass.
 * @param doesFit decides by the journal's state
 */
export async function failIfInfeasible(
  run: RunningTurn,
  step: string,
  { tokens, doesFit }: { readonly tokens: number; readonly doesFit: () => boolean },
): Promise<TurnEnd | DecideAgain> {
  const { prepared, journal } = run;
  if (!prepared.policy.enabled) return failAsTooLarge(run, { tokens });
  await refresh(run);
  if (doesFit()) return AGAIN;
  const need: PassNeed = { reasons: ['hard_limit'] };
  const recount = await recountNow(run, need);
  if (recount.status === 'too_large') return failAsTooLarge(run, { tokens, recount });
  await settleHere(run, need);
  if (doesFit()) return AGAIN;
  const why = { message: 'a pass could make room for the request, and did not' };
  return { kind: 'suspended', wait: waitForRetry(journal.waitsOf(step)), why };
}

/** @param refusal the provider's answer that the request is too long, after a pass for that reason */
export async function failAsRefused(run: RunningTurn, tokens: number, refusal: ModelFailure): Promise<TurnEnd> {
  const { prepared } = run;
  if (!prepared.policy.enabled) return failAsTooLarge(run, { tokens, refusal });
  const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  const recount = await recountNow(run, { reasons: ['overflow'], refusedTokens });
  return failAsTooLarge(run, { tokens, refusal, recount });
}

export async function requestUnderLease({ keeper, ports, prepared }: RunningTurn, need: PassNeed): Promise<string> {
  keeper.signal.throwIfAborted();
  const { calibration } = prepared.overhead;
  const passes: PassIntake = {
    requestPass: (request) => writeUnderLease({ ...ports, keeper }, 'request', () => ports.passes.requestPass(request)),
  };
  const answer = await requestPass({ ...ports, passes }, keeper.lease.conversation, { ...need, calibration });
  if (answer.status === 'gone') throw new LostTurn('gone');
  return answer.passId;
}

/** Joins the open pass or requests one, takes that pass over and settles it now. */
async function settleHere(run: RunningTurn, need: PassNeed): Promise<void> {
  await requestUnderLease(run, need);
  await run.ports.takeover.settleNow(run.keeper.lease.conversation);
  await refresh(run);
}

async function refresh({ journal, ports, keeper }: RunningTurn): Promise<void> {
  journal.adopt(await ports.contexts.readConversation(keeper.lease.conversation));
}

async function recountNow({ ports, keeper }: RunningTurn, need: PassNeed): Promise<Recount> {
  const recount = await ports.takeover.recount(keeper.lease.conversation, need);
  if (recount.status === 'gone') throw new LostTurn('gone');
  return recount;
}

interface TooLarge {
  readonly tokens: number;
  readonly refusal?: ModelFailure;
  readonly recount?: Recount;
}

/** The failure has the arithmetic of the request as its details. */
function failAsTooLarge({ prepared }: RunningTurn, { tokens, refusal, recount }: TooLarge): TurnEnd {
  const { limits, overhead, policy } = prepared;
  const { usable, upperBoundFactor } = limits;
  const upperBound = upperBoundTokens(tokens, upperBoundFactor);
  const sizes = { tokens, fixedTokens: overhead.tokens, upperBoundFactor, upperBoundTokens: upperBound, usable };
  const details = { ...sizes, ...describeParts(recount), ...describeCode(refusal) };
  const sum = `system and tools ${overhead.tokens} + messages ${tokens - overhead.tokens} = ${tokens} tokens`;
  const count = `${sum}, at most ${upperBound} (× ${upperBoundFactor}), usable ${usable ?? 'unknown'}`;
  const why = `${count}${explainParts(recount)}${explainRefusal(refusal)}`;
  return policy.enabled
    ? failTurn('budget_infeasible', `the request stays too large: ${why}`, details)
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
  return `. The provider refused the size${code === undefined ? '' : ` (${code})`}: ${message}`;
}

function explainParts(recount: Recount | undefined): string {
  if (recount?.status !== 'too_large') return '';
  const { details, rules } = recount;
  const { fixed, pinned, open, floor, max } = details;
  const parts = `. Nothing more may be removed: fixed ${fixed} + pinned ${pinned} + open ${open} + floor ${floor}, maxTokens ${max}`;
  return rules.length === 0 ? parts : `${parts}. A smaller context breaks ${rules.join(', ')}`;
}
