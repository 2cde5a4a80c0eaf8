import { failureCode, isServiceError } from '../../domain/errors.ts';
import { type ConversationRef, nameConversation, type TraceParent } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SpanSubject } from '../../domain/tracing.ts';
import type { PassDeliveryResult, PassHandler } from '../../jobs/ports.ts';
import type { ClaimedPass } from '../../store/pass-record.ts';
import type { PassClaimResult } from '../../store/passes.ts';
import { delayIfUnserved } from '../agents-elsewhere.ts';
import { wakeUnlessFull } from '../deferred-write.ts';
import { requestPass } from '../pass-request.ts';
import { type PreparedAgent, prepareAsLastTurn } from '../prepared-agent.ts';
import { StoppedWork, unlessAborted } from '../shutdown.ts';
import { postpone } from '../solo-lock.ts';
import type { TakeoverResult } from '../turn/turn-ports.ts';
import { act } from './pass-actions.ts';
import { chooseChildJobs, isFinal, nextPassState, startPass } from './pass-machine.ts';
import { evaluateRequest, findFirstUser } from './pass-snapshot.ts';
import type { ChildJobs, FinalState, PassState } from './pass-states.ts';
import { type CompactionPorts, failPass, type RunningPass, reportLost } from './pass-writes.ts';
import { isMeasured, type MeasuredPass } from './shadow.ts';

const DONE: PassDeliveryResult = { status: 'done' };

/** Claims a pass and carries it to a final state of `pass-machine.ts`. */
export function createPassHandler(ports: CompactionPorts): PassHandler {
  return async ({ conversation, job, haveChildrenEnded, traceParent }) => {
    if (ports.shutdown.begun.aborted) return postpone(ports);
    const claim = await ports.passes.claimPass(conversation, ports.owners.next(), job, ports.ids.next());
    if (claim.status !== 'claimed') {
      await reportFailedClaim(ports, conversation, claim);
      return DONE;
    }
    const { pass } = claim;
    const delayMs = await delayIfUnserved(ports, pass.conversation.agent, 'compaction');
    if (delayMs !== undefined) {
      await ports.passes.releasePass(pass.lease);
      return { status: 'postponed', delayMs };
    }
    return await ports.tracing.inSpan(describeSpan(pass, traceParent), async () => {
      try {
        const childJobs = chooseChildJobs(pass, job, haveChildrenEnded);
        const final = await unlessAborted(ports.shutdown.workEnds, () => deliverPass(ports, pass, childJobs));
        if (final.name !== 'parked') return DONE;
        const parent = ports.tracing.current();
        return { status: 'parked', children: final.children.map((child) => ({ ...child, traceParent: parent })) };
      } catch (error) {
        if (error instanceof StoppedWork) return await handPassBack(ports, pass);
        // The queue reports the first error. An error of `endBroken` has the same cause, or the lease was lost.
        await endBroken(ports, pass, error).catch(() => undefined);
        throw error;
      }
    });
  };
}

/** Takes the open pass from its owner, for a turn that waited too long, and ends it with the summaries that exist. */
export async function takeOverPass(ports: CompactionPorts, conversation: ConversationRef): Promise<TakeoverResult> {
  const claim = await ports.passes.takeOverPass(conversation, ports.owners.next(), ports.ids.next());
  if (claim.status !== 'claimed') return { status: 'none_open' };
  const { pass } = claim;
  ports.onEvent({ type: 'pass_taken_over', ...nameConversation(conversation), passId: pass.lease.passId });
  return await ports.tracing.inSpan(describeSpan(pass, ports.tracing.current()), async () => {
    const final = await deliverPass(ports, pass, { may: 'never' });
    return final.name === 'ended' ? { status: 'ended', outcome: final.outcome } : { status: 'lost' };
  });
}

type DeliveredPass = FinalState | { readonly name: 'ended'; readonly outcome: 'failed' };

async function deliverPass(ports: CompactionPorts, pass: ClaimedPass, childJobs: ChildJobs): Promise<DeliveredPass> {
  const { conversation } = pass.lease;
  const found = ports.agents.find(pass.conversation.agent);
  if (found === undefined) return await failUnknown(ports, pass);
  // A copy, so that one calibration factor holds for the whole delivery: the largest factor of all requesters.
  const prepared = { ...(await prepareAsLastTurn(ports.contexts, conversation, found)) };
  const heartbeat = ports.timers.every(PASS_LIMITS.heartbeatMs, async () => {
    await ports.passes.heartbeatPass(pass.lease);
  });
  try {
    const firstUserSeq = await findFirstUser(ports.contexts, conversation, pass.conversation.head);
    const run = { ports, pass, prepared, firstUserSeq };
    const final = await runPass(run, startPass(pass, childJobs));
    await followUp(run, final);
    return final;
  } finally {
    heartbeat.stop();
  }
}

async function runPass(run: RunningPass, start: PassState): Promise<FinalState> {
  let state = start;
  while (!isFinal(state)) state = nextPassState(state, await act(run, state));
  return state;
}

async function failUnknown(ports: CompactionPorts, pass: ClaimedPass): Promise<DeliveredPass> {
  const run = { ports, pass };
  const result = await failPass(run, { code: 'unknown_agent', reasons: pass.reasons });
  if (result.status === 'ended') return { name: 'ended', outcome: 'failed' };
  const why = result.status === 'reasons_added' ? 'superseded' : result.status;
  reportLost(run, why);
  return { name: 'lost', why };
}

/** Does what follows a pass. An error here does not fail the pass, which has ended. */
async function followUp(run: RunningPass, final: FinalState): Promise<void> {
  const { ports, pass } = run;
  try {
    switch (final.name) {
      case 'ended':
        await requestFollowUp(run, final.snapshot.prepared, final.progress.head);
        await measure(run, final.outcome, final.measured && { snapshot: final.snapshot, ...final.measured });
        break;
      case 'waiting':
        await measure(run, 'proposed', final.proposed);
        break;
      case 'lost':
        reportLost(run, final.why);
        break;
      case 'parked':
        break;
    }
  } catch (error) {
    ports.onEvent({ type: 'worker_failed', where: 'pass end', ...nameConversation(pass.lease.conversation), error });
  }
}

/**
 * Requests another pass if messages behind `head`, which the ended pass did not consider, meet a threshold. The end of
 * a turn counts with `onTurnEnd`. While a pass is open, turns and appends request none. If the worker dies here, the
 * next threshold check requests the pass.
 */
async function requestFollowUp({ ports, pass }: RunningPass, prepared: PreparedAgent, head: number): Promise<void> {
  const { contexts } = ports;
  const { conversation } = pass.lease;
  const state = await contexts.readConversation(conversation);
  if (state === undefined || state.passId !== undefined || state.head <= head) return;
  const isTurnEnd = prepared.policy.onTurnEnd && (await endsWithAnswer(contexts, conversation, state.head));
  const reasons = evaluateRequest(prepared, state, isTurnEnd ? ['turn_end'] : []);
  if (reasons.length === 0) return;
  await requestPass(ports, conversation, { reasons, calibration: prepared.overhead.calibration });
}

/** True if the last message is the final answer of a turn, so that no turn runs now. */
async function endsWithAnswer(
  contexts: CompactionPorts['contexts'],
  conversation: ConversationRef,
  head: number,
): Promise<boolean> {
  const [last] = await contexts.readLog(conversation, [{ from: head, to: head }]);
  return last?.turn !== undefined && last.message.role === 'assistant' && last.message.toolCalls === undefined;
}

/** Measures the shadow policy. Runs after the live pass, so that the shadow policy cannot affect it. */
async function measure(
  { ports, pass, firstUserSeq }: RunningPass,
  outcome: MeasuredPass['outcome'],
  measured: Extract<FinalState, { name: 'waiting' }>['proposed'],
): Promise<void> {
  if (ports.shadow === undefined || measured === undefined || !isMeasured(outcome)) return;
  const { conversation, passId } = pass.lease;
  const { snapshot, source, settled } = measured;
  await ports.shadow.measure({ conversation, passId, outcome, firstUserSeq, ...snapshot, source, settled });
}

/** Ends a pass whose work threw an error. The worker lives, so its claim must not count as a death (I22). */
async function endBroken(ports: CompactionPorts, pass: ClaimedPass, error: unknown): Promise<void> {
  if (isServiceError(error)) await ports.passes.releasePass(pass.lease);
  else await failPass({ ports, pass }, { code: failureCode(error), reasons: pass.reasons });
}

/** Gives the pass back when the worker stops. Work that still runs can write nothing more. */
async function handPassBack(ports: CompactionPorts, { lease }: ClaimedPass): Promise<PassDeliveryResult> {
  const { conversation, passId } = lease;
  const released = await ports.passes.releasePass(lease);
  // The pass has ended, waits for its child jobs, or has another owner.
  if (released.status !== 'released') return DONE;
  ports.shutdown.noteCutOff();
  ports.onEvent({ type: 'lease_returned', what: 'pass', ...nameConversation(conversation), passId, isCutOff: true });
  return postpone(ports);
}

function describeSpan(
  { lease, conversation: { agent }, attempt, reasons }: ClaimedPass,
  traceParent?: TraceParent,
): SpanSubject {
  const { conversation, passId } = lease;
  return { kind: 'pass', conversation, passId, agent, attempt, reasons, traceParent };
}

async function reportFailedClaim(
  ports: CompactionPorts,
  conversation: ConversationRef,
  claim: PassClaimResult,
): Promise<void> {
  if (claim.status !== 'failed') return;
  if (claim.wakeTurn !== undefined) await wakeUnlessFull(ports.wakes, 'turn', conversation, claim.wakeTurn);
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
