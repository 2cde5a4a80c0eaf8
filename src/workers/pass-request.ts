import type { Reason } from '../domain/compaction/thresholds.ts';
import type { EventListener } from '../domain/events.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { IdSource } from '../domain/ports/clock.ts';
import type { PassIntake } from '../domain/ports/pass-store.ts';
import type { WakeQueue } from '../domain/ports/queue.ts';

interface RequestPorts {
  readonly passes: PassIntake;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly ids: IdSource;
  readonly onEvent: EventListener;
}

/**
 * Asks for a pass, or adds the reasons to the one in progress. Answers its id; undefined: there is no conversation to compact.
 * @param refusedTokens with `overflow`: upper bound of the request that was refused
 */
export async function requestPass(
  { passes, wakes, ids, onEvent }: RequestPorts,
  conversation: ConversationRef,
  reasons: readonly Reason[],
  refusedTokens?: number,
): Promise<string | undefined> {
  const wake = ids.next();
  const result = await passes.requestPass({ conversation, reasons, refusedTokens, passId: ids.next(), wake });
  if (result.status !== 'requested' && result.status !== 'joined') return undefined;
  if (result.needsWake) await wakes.wake('pass', conversation, wake);
  const isJoined = result.status === 'joined';
  onEvent({ type: 'pass_requested', conversation, passId: result.passId, reasons, isJoined });
  return result.passId;
}
