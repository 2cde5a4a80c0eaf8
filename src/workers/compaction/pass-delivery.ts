import type { ConversationRef } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { PassDeliveryResult, PassHandler } from '../../domain/ports/handlers.ts';
import type { ClaimedPass, PassClaimResult } from '../../domain/ports/pass-store.ts';
import { PassEnding } from './pass-ending.ts';
import { type Fanning, type FanOut, PassRun } from './pass-run.ts';
import type { CompactionPorts } from './ports.ts';

const DONE: PassDeliveryResult = { status: 'done' };

/** Handles wakes for passes: claims, advances, and either ends the pass or parks it on its children. */
export function createPassHandler(ports: CompactionPorts): PassHandler {
  return async ({ conversation, job, haveChildrenEnded }) => {
    const claim = await ports.passes.claimPass(conversation, ports.ids.next(), job, ports.ids.next());
    if (claim.status !== 'claimed') {
      await reportFailedClaim(ports, conversation, claim);
      return DONE;
    }
    const advanced = await advancePass(ports, claim.pass, fanningOf(claim.pass, haveChildrenEnded));
    return advanced?.status === 'fan_out' ? await park(ports, claim.pass, job, advanced) : DONE;
  };
}

/** Children that were lost may be asked for once more; the last attempt takes what is there. */
function fanningOf({ attempt, isResumed }: ClaimedPass, haveChildrenEnded: boolean): Fanning {
  if (attempt >= PASS_LIMITS.maxAttempts) return 'never';
  return haveChildrenEnded && isResumed ? 'new_plan' : 'any_plan';
}

/**
 * Ends the pass in progress now, with the summaries that are there: for a turn whose wait for it is past its deadline. The
 * pass goes on under a new id, so whoever works on it under the old one is superseded.
 */
export async function takeOverPass(ports: CompactionPorts, conversation: ConversationRef): Promise<void> {
  const claim = await ports.passes.takeOverPass(conversation, ports.ids.next(), ports.ids.next());
  if (claim.status === 'claimed') await advancePass(ports, claim.pass, 'never');
}

async function advancePass(ports: CompactionPorts, pass: ClaimedPass, fanning: Fanning): Promise<FanOut | undefined> {
  const { lease } = pass;
  const prepared = ports.agents.find(pass.conversation.agent);
  if (prepared === undefined) {
    await new PassEnding(ports, pass).fail('unknown_agent', pass.reasons);
    return undefined;
  }
  const beat = ports.timers.every(PASS_LIMITS.beatMs, async () => {
    await ports.passes.heartbeatPass(lease);
  });
  try {
    const advanced = await new PassRun(ports, pass, prepared).advance(fanning);
    return advanced.status === 'fan_out' ? advanced : undefined;
  } finally {
    beat.stop();
  }
}

/** Gives the lease back before the queue is asked for children: a crash in between costs a minute, nothing else. */
async function park(
  ports: CompactionPorts,
  pass: ClaimedPass,
  job: string,
  fanOut: FanOut,
): Promise<PassDeliveryResult> {
  const { lease } = pass;
  const parked = await ports.passes.parkPass(lease, job, PASS_LIMITS.parkMs);
  if (parked.status !== 'parked') {
    new PassEnding(ports, pass).lose(parked.status);
    return DONE;
  }
  const { conversation, passId } = lease;
  const { children, sequences } = fanOut;
  ports.onEvent({ type: 'pass_fanned_out', conversation, passId, jobs: children.length, sequences });
  return { status: 'parked', children };
}

async function reportFailedClaim(
  ports: CompactionPorts,
  conversation: ConversationRef,
  claim: PassClaimResult,
): Promise<void> {
  if (claim.status !== 'failed') return;
  if (claim.wakeTurn !== undefined) await ports.wakes.wake('turn', conversation, claim.wakeTurn);
  ports.onEvent({
    type: 'pass_ended',
    conversation,
    passId: claim.passId,
    outcome: 'failed',
    code: 'poison',
    strategy: 'none',
    reasons: [],
    sequences: 0,
  });
}
