import { type ErrorCode, findWriteRefusal } from '../../domain/errors.ts';
import { nameConversation } from '../../domain/ids.ts';
import { idleTtlOf } from '../../domain/policy.ts';
import { type ClaimedTurn, isLost, type TurnSettlement } from '../../domain/ports/turn-store.ts';
import type { AnswerEnd, TurnFailure, WaitRequest } from '../../domain/turn.ts';
import { holdTurnWrite } from './held-write.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { LostTurn } from './lost-turn.ts';
import type { TurnDependencies } from './turn-dependencies.ts';

/** Why the work on a claimed turn stops. Decided where it is found, written in one place. */
export type TurnEnd =
  | { readonly kind: 'completed'; readonly answerSeq: number; readonly end?: AnswerEnd | undefined }
  | { readonly kind: 'failed'; readonly failure: TurnFailure }
  | {
      readonly kind: 'suspended';
      readonly wait: WaitRequest;
      /** of a wait for a retry: what failed, without contents, for a turn that is suspended too often */
      readonly why?: { readonly message: string; readonly code?: string | undefined };
    }
  /** by a worker that stops, or in whose process another turn must run alone */
  | { readonly kind: 'handed_back' /** amid a step, by the deadline of the stop */; readonly isCutOff: boolean };

/** Handed back between two steps: nothing is lost. */
export const HANDED_BACK: TurnEnd = { kind: 'handed_back', isCutOff: false };

/** @param details figures and ids, never contents */
export function failTurn(code: ErrorCode, message: string, details?: TurnFailure['details']): TurnEnd {
  return { kind: 'failed', failure: { code, message, ...(details === undefined ? {} : { details }) } };
}

type EndingPorts = Pick<
  TurnDependencies,
  'turns' | 'agents' | 'wakes' | 'clock' | 'ids' | 'timers' | 'onEvent' | 'tracing'
>;

/** The work on a claimed turn, once it has stopped. */
export interface EndedWork {
  readonly claimed: ClaimedTurn;
  readonly keeper: LeaseKeeper;
  /** when the work began, by the clock of this process; `claimed.claimedAt` is when it was claimed, by the store's */
  readonly startedAt: number;
  readonly end: TurnEnd;
  /** the delivery has its share left, so that the next turn needs no wake */
  readonly mayClaimNext: boolean;
}

/**
 * Writes how the work on a claimed turn ended: the one write that gives the lease back.
 * @returns the next turn, where this delivery goes on with it
 * @throws LostTurn
 */
export async function endTurn(ports: EndingPorts, work: EndedWork): Promise<ClaimedTurn | undefined> {
  const { claimed, keeper, end } = work;
  if (end.kind === 'handed_back') {
    await handBack(ports, claimed, end.isCutOff);
    return undefined;
  }
  if (end.kind === 'suspended') {
    const { lease } = claimed;
    const { wait } = end;
    const request = { ...wait, suspendedIn: ports.tracing.current() };
    const suspended = await holdTurnWrite({ ...ports, keeper }, 'suspend', () => ports.turns.suspend(lease, request));
    if (isLost(suspended)) throw new LostTurn(suspended.status);
    if (suspended.status === 'exhausted') return endTurn(ports, { ...work, end: exhausted(end) });
    const { conversation, turn } = lease;
    ports.onEvent({
      type: 'turn_suspended',
      ...nameConversation(conversation),
      turn,
      for: wait.for,
      waitMs: wait.waitMs,
    });
    return undefined;
  }
  const settlement: TurnSettlement =
    end.kind === 'completed'
      ? { state: 'completed', answerSeq: end.answerSeq, ...(end.end && { end: end.end }) }
      : { state: 'failed', failure: end.failure };
  return writeSettlement(ports, work, settlement);
}

async function handBack(
  { turns, wakes, ids, onEvent }: EndingPorts,
  claimed: ClaimedTurn,
  isCutOff: boolean,
): Promise<void> {
  const { lease } = claimed;
  const { conversation, turn } = lease;
  const wake = ids.next();
  const released = await turns.release(lease, wake);
  if (isLost(released)) throw new LostTurn(released.status);
  onEvent({ type: 'lease_returned', what: 'turn', ...nameConversation(conversation), turn, isCutOff });
  try {
    await wakes.wake('turn', conversation, wake);
  } catch (error) {
    // A full Redis takes the release and refuses the wake. The release made the turn due, so a sweep wakes it later.
    if (findWriteRefusal(error) === undefined) throw error;
  }
}

async function writeSettlement(
  ports: EndingPorts,
  { claimed, keeper, startedAt, mayClaimNext }: EndedWork,
  settlement: TurnSettlement,
): Promise<ClaimedTurn | undefined> {
  const { turns, agents, wakes, clock, ids, onEvent } = ports;
  const { lease, agent, dueAt, claimedAt } = claimed;
  const { conversation, turn } = lease;
  const rest = idleTtlOf(agents.find(agent)?.policy);
  const wake = mayClaimNext ? undefined : ids.next();
  const settle = () => turns.settle(lease, { ...settlement, ...rest }, wake);
  const result = await holdTurnWrite({ ...ports, keeper }, 'settle', settle);
  if (isLost(result)) throw new LostTurn(result.status);
  onEvent({
    type: 'turn_settled',
    ...nameConversation(conversation),
    turn,
    outcome: settlement.state,
    ...(settlement.state === 'failed' && { code: settlement.failure.code }),
    durationMs: Math.max(0, claimedAt - dueAt) + Math.max(0, clock.now() - startedAt),
  });
  if (result.wake !== undefined) await wakes.wake('turn', conversation, result.wake);
  return result.next;
}

function exhausted({ wait, why }: Extract<TurnEnd, { kind: 'suspended' }>): TurnEnd {
  const { step, for: kind } = wait;
  const message = `${step} was suspended too often, last for ${kind}${why === undefined ? '' : `: ${why.message}`}`;
  return failTurn('retries_exhausted', message, { step, ...(why?.code !== undefined && { code: why.code }) });
}
