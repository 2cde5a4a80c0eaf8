import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { PassIntake } from '../../domain/ports/pass-store.ts';
import { upperBoundTokens } from '../../domain/size.ts';
import { requestPass } from '../pass-request.ts';
import { writeUnderLease } from './held-write.ts';
import { LostTurn } from './lost-turn.ts';
import type { ModelFailure } from './model-call.ts';
import type { RunningTurn } from './running-turn.ts';
import { countUnsettled, countWaits, nextWaitMark } from './step-keys.ts';
import { failTurn, type TurnEnd } from './turn-end.ts';
import type { Recount } from './turn-ports.ts';
import { waitForPass, waitForRetry } from './waiting.ts';

/** Passes that may end without having settled the size before the turn settles the context itself. */
const MAX_UNSETTLED = 3;

/** Why a step needs a smaller context. */
export interface RoomRequest {
  readonly reasons: readonly Reason[];
  /** upper bound of the request that the provider refused as too long */
  readonly refusedTokens?: number;
}

/** The step is to be decided again over the state that the journal has now. */
export interface DecideAgain {
  readonly kind: 'again';
}

const AGAIN: DecideAgain = { kind: 'again' };

/**
 * Waits for a pass. After several passes that ended without having settled the size, the turn settles the context itself,
 * without summaries, and that was its wait.
 */
export async function waitForRoom(run: RunningTurn, step: string, room: RoomRequest): Promise<TurnEnd | DecideAgain> {
  const { journal } = run;
  // Asked for before the lease is given back: if the pass ends in between, the suspension says so.
  if (countUnsettled(journal.steps, step) < MAX_UNSETTLED) {
    return { kind: 'suspended', wait: waitForPass(step, await askForPass(run, room)) };
  }
  await settleHere(run, room);
  await journal.start([nextWaitMark(journal.steps, 'compaction', step)]);
  return AGAIN;
}

/**
 * Fails a step whose request does not fit, but only if that holds for the context of this moment (I14). If the context has
 * changed, the step is decided again. If a pass could make room, the turn makes that pass.
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
  const room: RoomRequest = { reasons: ['hard_limit'] };
  const recount = await recountNow(run, room);
  if (!recount.fits) return failAsTooLarge(run, { tokens, recount });
  await settleHere(run, room);
  if (doesFit()) return AGAIN;
  const waits = countWaits(journal.steps, 'retry', step);
  const why = { message: 'a pass could make room for the request, and did not' };
  return { kind: 'suspended', wait: waitForRetry(step, { waits }), why };
}

/** @param refusal the provider's word that the request is too long, after a pass for that reason */
export async function failAsRefused(run: RunningTurn, tokens: number, refusal: ModelFailure): Promise<TurnEnd> {
  const { prepared } = run;
  if (!prepared.policy.enabled) return failAsTooLarge(run, { tokens, refusal });
  const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  const recount = await recountNow(run, { reasons: ['overflow'], refusedTokens });
  return failAsTooLarge(run, { tokens, refusal, recount });
}

export async function askForPass({ keeper, ports, prepared }: RunningTurn, room: RoomRequest): Promise<string> {
  keeper.signal.throwIfAborted();
  const { calibration } = prepared.overhead;
  const passes: PassIntake = {
    requestPass: (request) => writeUnderLease({ ...ports, keeper }, 'request', () => ports.passes.requestPass(request)),
  };
  const passId = await requestPass({ ...ports, passes }, keeper.lease.conversation, { ...room, calibration });
  if (passId === undefined) throw new LostTurn('gone');
  return passId;
}

/** Settles the context now, without waiting for anybody: joins the open pass or requests one, and takes that pass over. */
async function settleHere(run: RunningTurn, room: RoomRequest): Promise<void> {
  await askForPass(run, room);
  await run.ports.takeover.settleNow(run.keeper.lease.conversation);
  await refresh(run);
}

async function refresh({ journal, ports, keeper }: RunningTurn): Promise<void> {
  journal.adopt(await ports.contexts.readConversation(keeper.lease.conversation));
}

async function recountNow({ ports, keeper }: RunningTurn, room: RoomRequest): Promise<Recount> {
  const recount = await ports.takeover.recount(keeper.lease.conversation, room);
  if (recount === undefined) throw new LostTurn('gone');
  return recount;
}

interface TooLarge {
  readonly tokens: number;
  readonly refusal?: ModelFailure;
  readonly recount?: Recount;
}

/** The arithmetic of a request that does not fit, as the failure's details. */
function failAsTooLarge({ prepared }: RunningTurn, { tokens, refusal, recount }: TooLarge): TurnEnd {
  const { limits, overhead, policy } = prepared;
  const { usable, upperBoundFactor } = limits;
  const upperBound = upperBoundTokens(tokens, upperBoundFactor);
  const code = refusal?.code;
  const parts = recount === undefined || recount.fits ? undefined : recount;
  const sizes = { tokens, fixedTokens: overhead.tokens, upperBoundFactor, upperBoundTokens: upperBound, usable };
  const details = {
    ...sizes,
    ...parts?.details,
    ...(parts && { rules: parts.rules }),
    ...(code !== undefined && { code }),
  };
  const sum = `system and tools ${overhead.tokens} + messages ${tokens - overhead.tokens} = ${tokens} tokens`;
  const count = `${sum}, at most ${upperBound} (× ${upperBoundFactor}), usable ${usable ?? 'unknown'}`;
  const left = parts === undefined ? '' : `; ${explain(parts)}`;
  const word = `; the provider refused the size${code === undefined ? '' : ` (${code})`}: ${refusal?.message}`;
  const why = refusal === undefined ? count + left : count + left + word;
  return policy.enabled
    ? failTurn('budget_infeasible', `the request stays too large: ${why}`, details)
    : failTurn('context_overflow', `the request is too large and compaction is off: ${why}`, details);
}

function explain({ details, rules }: Extract<Recount, { fits: false }>): string {
  const { fixed, pinned, open, floor, max } = details;
  const parts = `nothing more may be removed: fixed ${fixed} + pinned ${pinned} + open ${open} + floor ${floor}, maxTokens ${max}`;
  return rules.length === 0 ? parts : `${parts}; a smaller context breaks ${rules.join(', ')}`;
}
