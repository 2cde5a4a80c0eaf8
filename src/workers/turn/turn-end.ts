import type { StepState } from '../../domain/conversation.ts';
import { failureCode, isServiceError, isTurnfoldError } from '../../domain/errors.ts';
import { nameConversation } from '../../domain/ids.ts';
import { isLost } from '../../domain/lease.ts';
import { idleTtlOf } from '../../domain/policy.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { BEGUN_PRIORITY } from '../../jobs/queues.ts';
import type { TurnSettlement } from '../../store/turn-ends.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import { wakeUnlessFull } from '../deferred-write.ts';
import { LostTurn, type TurnGuard } from './turn-guard.ts';
import type { TurnPorts } from './turn-ports.ts';
import { failTurn, type TurnEnd } from './turn-states.ts';

type EndPorts = Pick<TurnPorts, 'turns' | 'agents' | 'wakes' | 'clock' | 'ids' | 'timers' | 'onEvent' | 'tracing'>;

export interface ClaimedWork {
  readonly claimed: ClaimedTurn;
  readonly guard: TurnGuard;
  /** Start of the work by this process's clock. `claimed.claimedAt` is by the store's clock. */
  readonly startedAt: number;
}

interface WorkToEnd extends ClaimedWork {
  readonly end: TurnEnd;
  readonly mayClaimNext: boolean;
}

interface EndedTurn {
  /** The next turn, if the settlement claimed it (I7). */
  readonly next?: ClaimedTurn | undefined;
  /** State of the conversation after the final answer, if the settlement recorded that answer. */
  readonly conversation?: StepState | undefined;
}

/** Ends the work on a turn. Only this function and `endBrokenTurn` give a lease back. @throws LostTurn */
export async function endTurn(ports: EndPorts, work: WorkToEnd): Promise<EndedTurn> {
  const { claimed, end } = work;
  switch (end.kind) {
    case 'handed_back':
      await handTurnBack(ports, claimed, end);
      return {};
    case 'suspended':
      return await suspend(ports, work, end);
    case 'completed': {
      const { answerSeq, end: answerEnd, isStructured, leaves, step } = end;
      const how = { ...(answerEnd && { end: answerEnd }), ...(isStructured && { isStructured }) };
      return await settle(ports, work, { state: 'completed', answerSeq, ...how, leaves, step });
    }
    case 'failed':
      return await settle(ports, work, { state: 'failed', failure: end.failure, leaves: end.leaves, step: end.step });
  }
}

async function handTurnBack(
  { turns, wakes, ids, onEvent }: EndPorts,
  { lease }: ClaimedTurn,
  { isCutOff, delayMs = 0 }: Extract<TurnEnd, { kind: 'handed_back' }>,
): Promise<void> {
  const { conversation, turn } = lease;
  const wake = ids.next();
  const released = await turns.release(lease, wake, delayMs);
  if (isLost(released)) throw new LostTurn(released.status);
  onEvent({ type: 'lease_returned', what: 'turn', ...nameConversation(conversation), turn, isCutOff });
  // The sweeper wakes a delayed turn when it is due.
  if (delayMs === 0) await wakeUnlessFull(wakes, 'turn', conversation, wake, { priority: BEGUN_PRIORITY });
}

async function suspend(
  ports: EndPorts,
  work: WorkToEnd,
  end: Extract<TurnEnd, { kind: 'suspended' }>,
): Promise<EndedTurn> {
  const { turns, tracing, onEvent } = ports;
  const { lease } = work.claimed;
  const { wait, why } = end;
  const request = { ...wait, suspendedIn: tracing.current() };
  const { status } = await work.guard.write('suspend', () => turns.suspend(lease, request));
  const { step, for: kind, waitMs } = wait;
  if (status === 'exhausted') {
    const limit = wait.maxMs === undefined ? 'was suspended too often' : `waited longer than ${wait.maxMs} ms`;
    const message = `step ${step} ${limit}. Its last wait was for ${kind}${why === undefined ? '' : `: ${why.message}`}`;
    const details = { step, ...(why?.code !== undefined && { code: why.code }) };
    return await endTurn(ports, { ...work, end: failTurn('retries_exhausted', message, details) });
  }
  const { conversation, turn } = lease;
  onEvent({ type: 'turn_suspended', ...nameConversation(conversation), turn, for: kind, waitMs });
  return {};
}

async function settle(
  ports: EndPorts,
  { claimed, guard, startedAt, mayClaimNext }: WorkToEnd,
  settlement: TurnSettlement,
): Promise<EndedTurn> {
  const { turns, agents, wakes, clock, ids, onEvent } = ports;
  const { lease, agent, dueAt, claimedAt } = claimed;
  const { conversation, turn } = lease;
  const idleTtl = idleTtlOf(agents.find(agent)?.policy);
  const wake = mayClaimNext ? undefined : ids.next();
  // After an abort only the failure of the turn may be recorded, but no answer of a model.
  if (settlement.step !== undefined) guard.signal.throwIfAborted();
  const result = await guard.write('settle', () => turns.settle(lease, { ...settlement, ...idleTtl }, wake));
  onEvent({
    type: 'turn_settled',
    ...nameConversation(conversation),
    turn,
    outcome: settlement.state,
    ...(settlement.state === 'failed' && { code: settlement.failure.code }),
    ...(settlement.leaves && { leaves: settlement.leaves.why }),
    durationMs: Math.max(0, claimedAt - dueAt) + Math.max(0, clock.now() - startedAt),
  });
  if (result.wake !== undefined) await wakeUnlessFull(wakes, 'turn', conversation, result.wake);
  return { next: result.next, conversation: result.conversation };
}

/**
 * Ends a turn whose work threw an unexpected error. The worker lives, so the claim must not count as a death (I22).
 * After an outage of Redis the lease is given back, and the sweeper wakes the conversation. Any other error would
 * return with the next claim, so the turn fails with a code.
 */
export async function endBrokenTurn(ports: EndPorts, work: ClaimedWork, error: unknown): Promise<void> {
  const { claimed, guard } = work;
  guard.abort(error);
  if (isServiceError(error)) await ports.turns.release(claimed.lease, ports.ids.next());
  else await endTurn(ports, { ...work, end: failAsBroken(error), mayClaimNext: false });
}

/** Outcome for an unknown error. The error may quote contents, so only its name is stored. */
function failAsBroken(error: unknown): TurnEnd {
  const code = failureCode(error);
  if (isTurnfoldError(error)) return failTurn(code, error.message, error.details);
  const { name } = describeThrown(error);
  const why = `an unexpected error (${name}) ended the work on the turn. The worker's log has the error`;
  return failTurn(code, why, { error: name });
}
