import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { WaitKind } from '../../domain/turn.ts';
import type { Postponed } from '../../jobs/ports.ts';
import type { ClaimResult } from '../../store/turn-claims.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import { wakeUnlessFull } from './turn-end.ts';
import type { TurnPorts } from './turn-ports.ts';

type DeliveryClaim =
  | { readonly status: 'claimed'; readonly turn: ClaimedTurn }
  /** Another worker has the agent of the turn, or may start soon. */
  | Postponed
  | { readonly status: 'none' };

/**
 * Claims the first turn of a conversation, if this worker has its agent. A turn whose agent no running worker has had for a
 * long time is still claimed, so that it fails.
 */
export async function claimTurn(
  ports: TurnPorts,
  conversation: ConversationRef,
  owner: string,
): Promise<DeliveryClaim> {
  const { turns, ids, elsewhere } = ports;
  const claim = await turns.claim(conversation, owner, ids.next(), elsewhere?.names);
  if (claim.status !== 'unserved') return await describeClaim(ports, conversation, claim);
  const delayMs = await elsewhere?.delayOf(claim.agent, 'turn');
  if (delayMs !== undefined) return { status: 'postponed', delayMs };
  return await describeClaim(ports, conversation, await turns.claim(conversation, owner, ids.next()));
}

async function describeClaim(
  ports: TurnPorts,
  conversation: ConversationRef,
  claim: ClaimResult,
): Promise<DeliveryClaim> {
  if (claim.status === 'poison') await reportPoison(ports, conversation, claim);
  return claim.status === 'claimed' ? claim : { status: 'none' };
}

/**
 * Reports a turn that was settled as failed because each of its claims ended without an outcome (invariant I10). The
 * next turn gets its own wake and delivery.
 */
async function reportPoison(
  { onEvent, wakes }: TurnPorts,
  conversation: ConversationRef,
  { turn, wake }: Extract<ClaimResult, { status: 'poison' }>,
): Promise<void> {
  onEvent({ type: 'turn_settled', ...nameConversation(conversation), turn, outcome: 'failed', code: 'poison' });
  if (wake !== undefined) await wakeUnlessFull(wakes, conversation, wake);
}

/** Reports a turn that a delivery has claimed, also together with the settlement of the turn before it. */
export function reportClaimed({ onEvent }: TurnPorts, claimed: ClaimedTurn): void {
  const { lease, agent, attempt, isFirstClaim, dueAt, claimedAt, waited } = claimed;
  const { conversation, turn } = lease;
  const suspended = readSuspension(claimed);
  const waitMs = Math.max(0, claimedAt - dueAt);
  const times = { ...(isFirstClaim && waited === undefined && { waitMs }), ...(suspended && { suspended }) };
  onEvent({ type: 'turn_claimed', ...nameConversation(conversation), turn, agent, attempt, ...times });
}

/** Returns how long the turn was suspended. Undefined for all claims but the first one after a suspension. */
function readSuspension({ waited, claimedAt, isFirstClaim }: ClaimedTurn): { for: WaitKind; ms: number } | undefined {
  if (waited === undefined || !isFirstClaim) return undefined;
  return { for: waited.for, ms: Math.max(0, claimedAt - waited.since) };
}
