import { type ClaimedTurn, isLost } from '../../domain/ports/turn-store.ts';
import { Ending, LostTurn } from './ending.ts';
import { endTurn } from './turn-end.ts';
import type { SuspectRunner, TurnPorts, TurnSettings } from './turn-ports.ts';
import type { TurnEnd } from './turn-states.ts';

/** ms until a worker may claim a suspect again for which this worker had no process left. */
const FULL_DELAY_MS = 5_000;

/**
 * Answers a suspect in a process of its own, while this process renews the lease, too. So a blocked event loop there
 * costs no lease before this process has ended the other and reported its death.
 * @returns `died` if the turn may be claimed again, and the death is reported
 * @throws LostTurn if the turn's lease was lost
 */
export async function answerApart(
  ports: TurnPorts & { readonly suspects: SuspectRunner },
  settings: TurnSettings,
  claimed: ClaimedTurn,
): Promise<'done' | 'died' | 'not_started'> {
  const { turns, clock, shutdown, suspects } = ports;
  const startedAt = clock.now();
  const ending = new Ending(claimed.lease, { ...ports, ...settings });
  const handBack = async (end: Extract<TurnEnd, { kind: 'handed_back' }>): Promise<'done'> => {
    await endTurn(ports, { claimed, ending, startedAt, end, mayClaimNext: false });
    return 'done';
  };
  try {
    const end = await suspects.run(claimed, ending.signal);
    switch (end) {
      case 'ended':
        return 'done';
      case 'not_started':
        return end;
      case 'full':
        return await handBack({ kind: 'handed_back', isCutOff: false, delayMs: FULL_DELAY_MS });
      case 'stopped':
        shutdown.noteCutOff();
        return await handBack({ kind: 'handed_back', isCutOff: true });
      case 'died': {
        const reported = await turns.reportDeath(claimed.lease);
        if (isLost(reported)) throw new LostTurn(reported.status);
        return end;
      }
    }
  } finally {
    ending.stop();
  }
}
