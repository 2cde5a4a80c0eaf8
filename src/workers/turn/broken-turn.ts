import { failureCode, isServiceError, isTurnfoldError } from '../../domain/errors.ts';
import type { EventScope } from '../../domain/events.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { type ClaimedWork, type EndPorts, endTurn } from './turn-end.ts';
import { failTurn, type TurnEnd } from './turn-states.ts';

/**
 * Thrown when a delivery ends with an unexpected error, its `cause`. `scope` has the ids for the event that reports the
 * error.
 */
export class BrokenDelivery extends Error {
  readonly scope: EventScope;

  constructor(scope: EventScope, cause: unknown) {
    super('an unexpected error ended the delivery of a turn', { cause });
    this.name = 'BrokenDelivery';
    this.scope = scope;
  }
}

/**
 * Ends a turn whose work threw an unexpected error. The worker lives, so its claim must not count as the death of a
 * worker (invariant I22). After an error of the service, such as an outage of Redis, the lease is given back without a
 * wake. The sweeper then wakes the conversation. The next claim would meet any other error again, so the turn fails
 * with a code.
 *
 * If Redis refuses this write too, the lease lapses by its time.
 */
export async function endBrokenTurn(ports: EndPorts, work: ClaimedWork, error: unknown): Promise<void> {
  const { claimed, ending } = work;
  ending.abort(error);
  if (isServiceError(error)) await ports.turns.release(claimed.lease, ports.ids.next());
  else await endTurn(ports, { ...work, end: failAsBroken(error), mayClaimNext: false });
}

/** The failure is stored with the turn. An unknown error may quote contents, so only its name is stored. */
function failAsBroken(error: unknown): TurnEnd {
  const code = failureCode(error);
  if (isTurnfoldError(error)) return failTurn(code, error.message, error.details);
  const { name } = describeThrown(error);
  const why = `an unexpected error (${name}) ended the work on the turn. The worker's log has the error`;
  return failTurn(code, why, { error: name });
}
