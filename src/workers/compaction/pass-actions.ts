import { excessWeight, requestTokensOf } from '../../compaction/budget.ts';
import { buildInSlices, contextMessages, weighItems } from '../../compaction/context.ts';
import { type EditedSummary, editProposal } from '../../compaction/edited-proposal.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import { addWeights } from '../../domain/message.ts';
import { hasHardReason, type Reason } from '../../domain/pass.ts';
import { type ApprovalRefusal, type Edits, type Proposal, rangeName } from '../../domain/proposal.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import { type ContextItem, type Segment, weighVersion } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { hashSegments } from '../content-hash.ts';
import { isThinkingLoopOpen, waitsForAnswer } from '../pass-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { checkVersion } from './check-version.ts';
import { readSnapshot } from './pass-snapshot.ts';
import type { ActivePassStateName, PassFacts, PassState } from './pass-states.ts';
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
import {
  childId,
  findRecords,
  readAccepted,
  sequenceKey,
  summaryKey,
  summaryPolicy,
  summaryWaitMs,
} from './sequence-summaries.ts';

export async function act<Name extends ActivePassStateName>(
  run: RunningPass,
  state: PassState<Name>,
): Promise<PassFacts[Name]> {
  return await ACTIONS[state.name](run, state);
}

const ACTIONS: {
  readonly [Name in ActivePassStateName]: (run: RunningPass, state: PassState<Name>) => Promise<PassFacts[Name]>;
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
  check_approval: checkApproval,
  commit_approved: commitApproved,
  refuse_approval: answerRefusal,
};

function readFresh({ ports, pass, prepared }: RunningPass): Promise<PassFacts['evaluate']> {
  return readSnapshot(ports, pass.lease, prepared);
}

async function planLive(
  { ports, pass, firstUserSeq }: RunningPass,
  state: PassState<'plan'>,
): Promise<PassFacts['plan']> {
  const source = await ports.contexts.readContext(pass.lease.conversation);
  if (source === undefined) return { status: 'gone' };
  const context = await eventLoopShare.run(buildInSlices(source));
  const planned = await planContext({ ...state, source, context, firstUserSeq });
  return planned.status === 'planned' ? { ...planned, source } : planned;
}

/** Lists a child job for each sequence without a stored result. A refusal of a summary is a result, too. */
async function findMissing(
  { ports, pass, prepared }: RunningPass,
  state: PassState<'find_missing'>,
): Promise<PassFacts['find_missing']> {
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

/** Gives the lease back before the queue adds jobs. A crash in between only delays the pass, until `parkedUntil`. */
async function parkPass(run: RunningPass, { job, children, sequences }: PassState<'park'>): Promise<PassFacts['park']> {
  const { passes, onEvent } = run.ports;
  const { policy } = run.prepared;
  const parkMs = Math.max(...children.map(({ sequence }) => summaryWaitMs(sequence, policy)));
  const parked = await passes.parkPass(run.pass.lease, job, parkMs);
  if (parked.status !== 'parked') return parked;
  onEvent({ type: 'pass_fanned_out', ...scopeOf(run), jobs: children.length, sequences });
  return parked;
}

async function readLive(
  { ports, pass, prepared }: RunningPass,
  { plan }: PassState<'rebase'>,
): Promise<PassFacts['rebase']> {
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

async function settleLive(run: RunningPass, state: PassState<'settle'>): Promise<PassFacts['settle']> {
  const { ports, pass, prepared, firstUserSeq } = run;
  const { conversation } = pass.lease;
  const { plan, reasons, snapshot, live } = state;
  const shown = await eventLoopShare.run(buildInSlices(live));
  if (waitsForAnswer(reasons, contextMessages(shown))) return { status: 'thinking' };
  // Messages that came after the plan follow the version unchanged. If a turn waits, the version also covers those
  // messages, because the whole request must fit.
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

/** Checks an edited proposal against the live context, which includes messages that were appended since. */
async function checkApproval(
  { ports, pass }: RunningPass,
  state: PassState<'check_approval'>,
): Promise<PassFacts['check_approval']> {
  const { edits, proposal } = state;
  const live = await ports.contexts.readContext(pass.lease.conversation);
  if (live === undefined) return { status: 'gone' };
  if (live.version.number !== proposal.version.parent) return { status: 'version_changed' };
  const wrong = findWrongEdit(proposal, edits);
  if (wrong !== undefined) return { status: 'refused', refusal: wrong };
  const { prepared } = state.snapshot;
  const { overhead } = prepared;
  const edited = editProposal(proposal, await weighEdits(prepared, proposal, edits), overhead);
  // The old context is counted again, because the calibration factor may have changed while the proposal waited.
  const context = await eventLoopShare.run(buildInSlices(live));
  const items = context.items.filter(({ to }) => to <= proposal.version.base);
  const tokensBefore = requestTokensOf({ overhead }, items);
  const approved = { ...edited, version: { ...edited.version, tokensBefore } };
  const refusal = await eventLoopShare.run(findRefusal(state, approved, { live, items: context.items }));
  return refusal === undefined ? { status: 'accepted', proposal: approved } : { status: 'refused', refusal };
}

function findWrongEdit({ summaries }: Proposal, edits: Edits): ApprovalRefusal | undefined {
  const ranges = new Set(Object.values(summaries).map(rangeName));
  const wrong = Object.keys(edits).find((range) => !ranges.has(range) || edits[range]?.trim() === '');
  if (wrong === undefined) return undefined;
  const why = ranges.has(wrong)
    ? 'the edited text of a summary must not be empty'
    : 'the proposal has no new summary of this range. Edit one of its ranges';
  return { code: 'invalid_input', field: `edits.${wrong}`, message: why };
}

/** Counts edited texts. Removes the provider's opaque items of an edited range, because they contain the old text. */
async function weighEdits(
  { weigh }: Pick<PreparedAgent, 'weigh'>,
  { summaries }: Proposal,
  edits: Edits,
): Promise<EditedSummary[]> {
  const edited: EditedSummary[] = [];
  for (const [key, summary] of Object.entries(summaries)) {
    const text = edits[rangeName(summary)];
    if (text === undefined || text === summary.text) continue;
    const { raw: _, ...kept } = summary;
    const changed = { ...kept, text, model: 'edited' };
    const content = renderWidestSummary(text, summary.covers);
    const { tokens, bytes } = await weigh({ role: 'summary', content });
    edited.push({ replaces: key, key: summaryKey(changed), summary: changed, weight: { tokens, bytes } });
  }
  return edited;
}

/** Finds a reason to refuse an approved version, which must meet the rules of any other version (I16). */
function* findRefusal(
  { edits, snapshot: { state, prepared } }: PassState<'check_approval'>,
  { version, summaries }: Proposal,
  { live, items }: { readonly live: ContextSource; readonly items: readonly ContextItem[] },
): Interruptible<ApprovalRefusal | undefined> {
  if (isThinkingLoopOpen(contextMessages({ items }))) {
    const message = 'a model is in the middle of its thinking in this conversation. Approve again after its answer';
    return { code: 'conversation_busy', field: 'conversation', message };
  }
  const misfit = findMisfit(version, prepared);
  if (misfit !== undefined) return refuse(edits, misfit);
  if (state.quarantine?.segments === hashSegments(version.segments)) {
    return refuse(edits, 'the provider refused an earlier context version with the same changes against the log');
  }
  const appended = segmentBehind(version, live.head, items);
  const segments = [...version.segments, ...appended];
  const weight = appended.reduce((sum, segment) => addWeights(sum, segment.weight), weighVersion(version));
  const texts = new Map(Object.entries(summaries));
  const [violation] = yield* checkVersion(prepared, live, { segments, weight }, texts);
  return violation && refuse(edits, `${violation.rule}: ${violation.message}`);
}

function findMisfit(version: Proposal['version'], { limits, overhead }: PreparedAgent): string | undefined {
  const { tokensBefore, tokensAfter } = version;
  if (tokensAfter >= tokensBefore)
    return `the new context has ${tokensAfter} tokens, but must have fewer than the ${tokensBefore} of the current one`;
  // A proposal that explains its size may exceed the budget, unless the explanation is missing summaries.
  if (version.explained.some((why) => why !== 'summaries_missing')) return undefined;
  const reasons = version.reasons as Reason[];
  const { tokens, bytes } = excessWeight({ limits, overhead, reasons }, weighVersion(version));
  if (tokens > 0) return `the new context exceeds maxTokens by ${tokens} tokens`;
  return bytes > 0 ? `the new context exceeds the model's request limit by ${bytes} bytes` : undefined;
}

/** Builds a refusal that blames the edits. Without edits, the refusal says that the proposal is outdated. */
function refuse(edits: Edits, message: string): ApprovalRefusal {
  const hasEdits = Object.keys(edits).length > 0;
  return hasEdits
    ? { code: 'invalid_input', field: 'edits', message }
    : { code: 'proposal_stale', field: 'proposal', message };
}

function segmentBehind({ base }: Proposal['version'], head: number, items: readonly ContextItem[]): readonly Segment[] {
  if (head <= base) return [];
  return [{ kind: 'raw', from: base + 1, to: head, weight: weighItems(items.filter(({ from }) => from > base)) }];
}
