import { buildInSlices, messagesOf } from '../../compaction/context.ts';
import { limitSummaryCall } from '../../compaction/summary-time.ts';
import { hasHardReason, PASS_LIMITS } from '../../domain/pass.ts';
import type { Policy } from '../../domain/policy.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import { checkApproval } from './approval.ts';
import { readSnapshot } from './pass-snapshot.ts';
import type { Facts, PassState, WorkStep } from './pass-states.ts';
import {
  answerRefusal,
  commitApproved,
  commitSettled,
  endWithoutVersion,
  failPass,
  proposeSettled,
  type RunningPass,
  scopeOf,
} from './pass-writes.ts';
import { planContext, settleContext } from './plan-and-settle.ts';
import { childId, findRecords, readAccepted, sequenceKey, summaryPolicy } from './sequence-summaries.ts';

/** Runs the action of a compaction pass's state. Returns the facts from which `nextStep` decides the next state. */
export async function act<Step extends WorkStep>(run: RunningPass, state: PassState<Step>): Promise<Facts[Step]> {
  return await ACTIONS[state.step](run, state);
}

const ACTIONS: {
  readonly [Step in WorkStep]: (run: RunningPass, state: PassState<Step>) => Promise<Facts[Step]>;
} = {
  evaluate: readFresh,
  plan: planLive,
  record_plan: ({ ports, pass }, { plan }) => ports.passes.recordPlan(pass.lease, plan),
  find_missing: findMissing,
  park: parkPass,
  rebase: readLive,
  settle: settleLive,
  propose: proposeSettled,
  commit: commitSettled,
  end: endWithoutVersion,
  fail: (run, state) => failPass(run, state, run.prepared.policy),
  review: readFresh,
  check_approval: compareAndCheck,
  commit_approved: commitApproved,
  refuse_approval: answerRefusal,
};

function readFresh({ ports, pass, prepared }: RunningPass): Promise<Facts['evaluate']> {
  return readSnapshot(ports, pass.lease, prepared);
}

async function compareAndCheck(
  { ports, pass }: RunningPass,
  state: PassState<'check_approval'>,
): Promise<Facts['check_approval']> {
  const live = await ports.contexts.readContext(pass.lease.conversation);
  if (live === undefined) return { status: 'gone' };
  if (live.version.number !== state.proposal.version.parent) return { status: 'version_changed' };
  return await checkApproval(state, live);
}

async function planLive({ ports, pass, firstUserSeq }: RunningPass, state: PassState<'plan'>): Promise<Facts['plan']> {
  const source = await ports.contexts.readContext(pass.lease.conversation);
  if (source === undefined) return { status: 'gone' };
  const context = await eventLoopShare.run(buildInSlices(source));
  const planned = await planContext({ ...state, source, context, firstUserSeq });
  return planned.status === 'planned' ? { ...planned, source } : planned;
}

/**
 * Creates one child job for each sequence (range of messages to summarize) without a stored result. A refused summary
 * is a stored result.
 */
async function findMissing(
  { ports, pass, prepared }: RunningPass,
  state: PassState<'find_missing'>,
): Promise<Facts['find_missing']> {
  const { passId, conversation, owner } = pass.lease;
  const policy = summaryPolicy(prepared.policy, state.conversation);
  const { sequences } = state.plan;
  const known = await findRecords(ports.summaries, conversation, sequences, policy);
  const missing = sequences
    .filter((_, index) => known[index] === undefined)
    .map((sequence) => ({ sequence, hash: sequenceKey(sequence, policy) }));
  return {
    missing: missing.map((task) => ({ conversation, passId, ...task, child: childId(passId, owner, task.hash) })),
  };
}

/**
 * Gives the compaction pass's lease back, and then asks the queue for child jobs. A crash between the two delays the
 * pass by a minute, but loses nothing.
 */
async function parkPass(run: RunningPass, { job, children, sequences }: PassState<'park'>): Promise<Facts['park']> {
  const { passes, onEvent } = run.ports;
  const parkMs = parkTime(run.prepared.policy, children);
  const parked = await passes.parkPass(run.pass.lease, job, parkMs);
  if (parked.status !== 'parked') return parked;
  onEvent({ type: 'pass_fanned_out', ...scopeOf(run), jobs: children.length, sequences });
  return parked;
}

/** Output tokens of a summarizing model per token of its cap: thinking and text that is clipped afterwards included. */
const OUTPUT_FACTOR = 2;
const THINKING_TOKENS = 4_096;

/** Time that the slowest of the jobs may need for its model calls, and at least that of a summary without a model. */
function parkTime({ summarizer }: Policy, children: PassState<'park'>['children']): number {
  if (typeof summarizer === 'string') return PASS_LIMITS.parkMs;
  const times = children.map(({ sequence: { tokens, maxTokens } }) => {
    const maxOutputTokens = OUTPUT_FACTOR * maxTokens + THINKING_TOKENS;
    return limitSummaryCall({ tokens, maxOutputTokens }, summarizer.callTimeout).totalMs;
  });
  return Math.max(PASS_LIMITS.parkMs, ...times);
}

async function readLive(
  { ports, pass, prepared }: RunningPass,
  { plan }: PassState<'rebase'>,
): Promise<Facts['rebase']> {
  const { conversation } = pass.lease;
  const read = await readSnapshot(ports, pass.lease, prepared);
  if (read.status !== 'read') return read;
  const live = await ports.contexts.readContext(conversation);
  if (live === undefined) return { status: 'gone' };
  const { version, head } = plan;
  const planned =
    version === live.version.number ? live : await ports.contexts.readContext(conversation, { version, head });
  return { ...read, live, planned: planned?.version };
}

async function settleLive(run: RunningPass, state: PassState<'settle'>): Promise<Facts['settle']> {
  const { ports, pass, prepared, firstUserSeq } = run;
  const { conversation } = pass.lease;
  const { plan, reasons, snapshot, live } = state;
  const shown = await eventLoopShare.run(buildInSlices(live));
  if (waitsForAnswer(reasons, messagesOf(shown))) return { status: 'thinking' };
  // Messages that were appended after the plan follow the new context version unchanged. If a turn waits for the pass,
  // the version covers these messages as well, because the whole request must fit into the window.
  const head = hasHardReason(reasons) ? live.head : plan.head;
  const at = { version: live.version.number, head };
  const source = live.head === head ? live : await ports.contexts.readContext(conversation, at);
  if (source === undefined) return { status: 'version_changed' };
  const policy = summaryPolicy(prepared.policy, snapshot.state);
  const accepted = await readAccepted(ports.summaries, conversation, plan, policy);
  const context = source === live ? shown : await eventLoopShare.run(buildInSlices(source));
  const version = live.version.number + 1;
  const settled = await settleContext(
    { snapshot, reasons, source, context, firstUserSeq, plan, accepted },
    {
      onRefusal: (refusal) =>
        ports.onEvent({ type: 'version_refused', by: 'check', ...scopeOf(run), version, ...refusal }),
    },
  );
  return { status: 'settled', settled, source, texts: accepted.texts };
}
