import type { ClaimedTurn, Settlement } from '../../domain/ports/turn-store.ts';
import { restOf } from '../../domain/rest.ts';
import { LostTurn } from './lost-turn.ts';
import type { TurnDependencies } from './turn-dependencies.ts';
import { failTurn, type TurnEnd } from './turn-end.ts';

type EndingPorts = Pick<TurnDependencies, 'turns' | 'agents' | 'wakes' | 'clock' | 'ids' | 'onEvent' | 'tracing'>;

/**
 * Writes how the work on a claimed turn ended: the one write that gives the lease back.
 * @param mayClaimNext the delivery has its share left, so that the next turn needs no wake
 * @returns the next turn, where this delivery goes on with it
 * @throws LostTurn
 */
export async function endTurn(
  ports: EndingPorts,
  claimed: ClaimedTurn,
  end: TurnEnd,
  mayClaimNext: boolean,
): Promise<ClaimedTurn | undefined> {
  if (end.kind === 'suspended') {
    const { lease } = claimed;
    const { wait } = end;
    const { status } = await ports.turns.suspend(lease, { ...wait, suspendedIn: ports.tracing.current() });
    if (status === 'fenced' || status === 'gone') throw new LostTurn(status);
    if (status === 'exhausted') return endTurn(ports, claimed, exhausted(wait), mayClaimNext);
    const { conversation, turn } = lease;
    ports.onEvent({ type: 'turn_suspended', conversation, turn, for: wait.for, waitMs: wait.waitMs });
    return undefined;
  }
  const settlement: Settlement =
    end.kind === 'completed'
      ? { state: 'completed', answerSeq: end.answerSeq, ...(end.end && { end: end.end }) }
      : { state: 'failed', failure: end.failure };
  return settleTurn(ports, claimed, settlement, mayClaimNext);
}

async function settleTurn(
  { turns, agents, wakes, clock, ids, onEvent }: EndingPorts,
  { lease, agent, acceptedAt }: ClaimedTurn,
  settlement: Settlement,
  mayClaimNext: boolean,
): Promise<ClaimedTurn | undefined> {
  const { conversation, turn } = lease;
  const rest = restOf(agents.find(agent)?.policy);
  const result = await turns.settle(lease, { ...settlement, ...rest }, mayClaimNext ? undefined : ids.next());
  if (result.status === 'fenced' || result.status === 'gone') throw new LostTurn(result.status);
  onEvent({
    type: 'turn_settled',
    conversation,
    turn,
    outcome: settlement.state,
    ...(settlement.state === 'failed' && { code: settlement.failure.code }),
    durationMs: Math.max(0, clock.now() - acceptedAt),
  });
  if (result.wake !== undefined) await wakes.wake('turn', conversation, result.wake);
  return result.next;
}

function exhausted({ step, for: kind }: { readonly step: string; readonly for: string }): TurnEnd {
  return failTurn('retries_exhausted', `${step} was suspended too often, last for ${kind}`, { step });
}
