import { type ConversationRef, nameConversation, type TraceParent } from '../../domain/ids.ts';
import { PASS_LIMITS, type PassOutcome } from '../../domain/pass.ts';
import type { ClaimedPass, PassClaimResult } from '../../domain/ports/pass-store.ts';
import type { PassDeliveryResult, PassHandler } from '../../domain/ports/queue.ts';
import type { SpanSubject } from '../../domain/ports/tracing.ts';
import { prepareAsLastTurn } from '../prepared-agent.ts';
import { StoppedWork, unlessAborted } from '../shutdown.ts';
import { postpone } from '../work-place.ts';
import { type EndedPass, PassEnding, type WaitingPass } from './pass-ending.ts';
import { type Fanning, type FanOut, PassRun } from './pass-run.ts';
import type { CompactionPorts } from './ports.ts';

const DONE: PassDeliveryResult = { status: 'done' };

/** Handles wakes for passes: claims, advances, and either ends the pass or parks it on its children. */
export function createPassHandler(ports: CompactionPorts): PassHandler {
  return async ({ conversation, job, haveChildrenEnded, askedIn }) => {
    if (ports.shutdown.begun.aborted) return postpone(ports);
    const claim = await ports.passes.claimPass(conversation, ports.ids.next(), job, ports.ids.next());
    if (claim.status !== 'claimed') {
      await reportFailedClaim(ports, conversation, claim);
      return DONE;
    }
    const { pass } = claim;
    return await ports.tracing.inSpan(describeSpan(pass, askedIn), async () => {
      const fanning = fanningOf(pass, haveChildrenEnded);
      try {
        return await unlessAborted(ports.shutdown.workEnds, async () => {
          const advanced = await advancePass(ports, pass, fanning);
          return advanced?.status === 'fan_out' ? await park(ports, pass, job, advanced) : DONE;
        });
      } catch (error) {
        if (!(error instanceof StoppedWork)) throw error;
        return await handBack(ports, pass);
      }
    });
  };
}

/** What still runs for the pass is left behind. It can write nothing more. */
async function handBack(ports: CompactionPorts, { lease }: ClaimedPass): Promise<PassDeliveryResult> {
  const { conversation, passId } = lease;
  const released = await ports.passes.releasePass(lease);
  // It has ended or parked meanwhile, or has another owner.
  if (released.status !== 'released') return DONE;
  ports.shutdown.noteCutOff();
  ports.onEvent({ type: 'lease_returned', what: 'pass', ...nameConversation(conversation), passId, isCutOff: true });
  return postpone(ports);
}

/** Children that were lost may be asked for once more; the last attempt takes what is there. */
function fanningOf({ attempt, isResumed }: ClaimedPass, haveChildrenEnded: boolean): Fanning {
  if (attempt >= PASS_LIMITS.maxAttempts) return 'never';
  return haveChildrenEnded && isResumed ? 'new_plan' : 'any_plan';
}

/**
 * Ends the open pass now, with the summaries that are there, for a turn that waits no longer. The pass goes on under a new
 * id, so whoever works on it under the old id is superseded.
 * @returns how it ended; undefined if no pass was open, or this owner lost it
 */
export async function takeOverPass(
  ports: CompactionPorts,
  conversation: ConversationRef,
): Promise<PassOutcome['kind'] | undefined> {
  const claim = await ports.passes.takeOverPass(conversation, ports.ids.next(), ports.ids.next());
  if (claim.status !== 'claimed') return undefined;
  const { pass } = claim;
  ports.onEvent({ type: 'pass_taken_over', ...nameConversation(conversation), passId: pass.lease.passId });
  return await ports.tracing.inSpan(describeSpan(pass, ports.tracing.current()), async () => {
    const advanced = await advancePass(ports, pass, 'never');
    return advanced.status === 'ended' && advanced.outcome !== 'superseded' ? advanced.outcome : undefined;
  });
}

function describeSpan(
  { lease, conversation: { agent }, attempt, reasons }: ClaimedPass,
  askedIn?: TraceParent,
): SpanSubject {
  const { conversation, passId } = lease;
  return { kind: 'pass', conversation, passId, agent, attempt, reasons, askedIn };
}

async function advancePass(
  ports: CompactionPorts,
  pass: ClaimedPass,
  fanning: Fanning,
): Promise<FanOut | WaitingPass | EndedPass> {
  const { lease } = pass;
  const found = ports.agents.find(pass.conversation.agent);
  if (found === undefined) {
    return await new PassEnding(ports, pass).fail('unknown_agent', pass.reasons);
  }
  const prepared = await prepareAsLastTurn(ports.contexts, lease.conversation, found);
  const heartbeat = ports.timers.every(PASS_LIMITS.heartbeatMs, async () => {
    await ports.passes.heartbeatPass(lease);
  });
  try {
    return await new PassRun(ports, pass, prepared).advance(fanning);
  } finally {
    heartbeat.stop();
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
  ports.onEvent({
    type: 'pass_fanned_out',
    ...nameConversation(conversation),
    passId,
    jobs: children.length,
    sequences,
  });
  const askedIn = ports.tracing.current();
  return { status: 'parked', children: children.map((child) => ({ ...child, askedIn })) };
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
    ...nameConversation(conversation),
    passId: claim.passId,
    outcome: 'failed',
    code: 'poison',
    strategy: 'none',
    reasons: [],
    sequences: 0,
  });
}
