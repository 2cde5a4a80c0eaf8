import type { SettledContext } from '../../compaction/settle.ts';
import type { EventScope, WorkerEvent } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { PASS_LIMITS, type PassOutcome, type Reason } from '../../domain/pass.ts';
import type { PassFallback } from '../../domain/pass-events.ts';
import type { PassPlan } from '../../domain/pass-plan.ts';
import { idleTtlOf, type Policy } from '../../domain/policy.ts';
import type { Summary, Version } from '../../domain/version.ts';
import type { WakeQueue } from '../../jobs/ports.ts';
import type { ContextReader } from '../../store/contexts.ts';
import type { PassEnd, PassEndResult } from '../../store/pass-ends.ts';
import type { ClaimedPass } from '../../store/pass-record.ts';
import type { PassStore } from '../../store/passes.ts';
import type { SummaryStore } from '../../store/summaries.ts';
import { wakeUnlessFull } from '../deferred-write.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import type { WorkerPorts } from '../worker-ports.ts';
import { backoffAfter, buildVersion } from './pass-results.ts';
import type { PassSnapshot } from './pass-snapshot.ts';
import type { Evaluated, PassFacts, PassState } from './pass-states.ts';
import type { Shadow } from './shadow.ts';

export interface CompactionPorts extends WorkerPorts {
  readonly passes: PassStore;
  readonly contexts: Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog' | 'readSystem' | 'readOwn'>;
  readonly summaries: Pick<SummaryStore, 'readSummaries'>;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  /** A second policy, measured without effect at every pass that this worker ends. */
  readonly shadow?: Shadow;
}

interface OwnedPass {
  readonly ports: CompactionPorts;
  readonly pass: ClaimedPass;
}

/** A claimed pass, with the values that stay the same during its delivery. */
export interface RunningPass extends OwnedPass {
  readonly prepared: PreparedAgent;
  readonly firstUserSeq: number | undefined;
}

type EndedEvent = Extract<WorkerEvent, { readonly type: 'pass_ended' }>;
type Figures = Partial<Omit<EndedEvent, 'type' | 'outcome' | 'code' | 'reasons' | keyof EventScope>>;

export function scopeOf({ pass: { lease } }: OwnedPass): EventScope {
  return { ...nameConversation(lease.conversation), passId: lease.passId };
}

/** Ends a pass that made no version. If reasons were added after the snapshot, the pass does not end. */
export async function endWithoutVersion(run: OwnedPass, state: PassState<'end'>): Promise<PassEndResult> {
  const { outcome, snapshot, reasons, sizes } = state;
  const end = describeEnd(run, outcome, snapshot);
  const result = await run.ports.passes.endPass(run.pass.lease, end);
  // A rejected proposal also starts a backoff. But the event reports only a backoff after passes without gain.
  const startsBackoff =
    outcome.kind === 'no_gain' && end.backoff.noGainBelowTokens > snapshot.state.backoff.noGainBelowTokens;
  return await finish(run, result, {
    outcome,
    reasons,
    figures: { ...sizes, ...(startsBackoff && { startsBackoff }) },
  });
}

/** Ends the pass as failed, even if reasons were added. @param policy undefined if this worker lacks the agent */
export async function failPass(
  run: OwnedPass,
  { code, reasons }: { readonly code: string; readonly reasons: readonly Reason[] },
  policy?: Policy,
): Promise<PassEndResult> {
  const { ports, pass } = run;
  const outcome = { kind: 'failed', code } as const;
  const { backoff } = pass.conversation;
  const end = { outcome, backoff, wakeTurn: ports.ids.next(), ...idleTtlOf(policy) };
  return await finish(run, await ports.passes.endPass(pass.lease, end), { outcome, reasons, figures: {} });
}

export async function commitSettled(run: OwnedPass, state: PassState<'commit'>): Promise<PassFacts['commit']> {
  const summaries = findUsedSummaries(state);
  const version = await makeVersion(run, state, summaries);
  if (version === undefined) return { status: 'gone' };
  const { plan, settled } = state;
  const prefixTokens = settled.prefix.kept.tokens;
  const figures = { sequences: plan.sequences.length, prefixTokens, ...findFallbacks(plan, settled) };
  return await commitVersion(run, state, { version, summaries, outcome: 'committed', figures });
}

/** Commits an approved version, with the hashes of this worker's prompt, tools and pins. */
export async function commitApproved(
  run: OwnedPass,
  state: PassState<'commit_approved'>,
): Promise<PassFacts['commit_approved']> {
  const { policy: policyHash, system: systemHash, tools: toolsHash, pins: pinsHash } = state.snapshot.prepared.hashes;
  const hashes = { policyHash, systemHash, toolsHash, pinsHash };
  const version = { ...state.proposal.version, ...hashes, at: run.ports.clock.now() };
  const summaries = new Map(Object.entries(state.proposal.summaries));
  return await commitVersion(run, state, {
    version,
    summaries,
    outcome: 'approved',
    figures: { sequences: summaries.size },
  });
}

export async function proposeSettled(run: OwnedPass, state: PassState<'propose'>): Promise<PassFacts['propose']> {
  const { passes, ids, onEvent } = run.ports;
  const { plan, settled, reasons, snapshot } = state;
  const summaries = findUsedSummaries(state);
  const version = await makeVersion(run, state, summaries);
  if (version === undefined) return { status: 'gone' };
  const proposal = { id: ids.next(), version, summaries: Object.fromEntries(summaries) };
  const reviewMs = snapshot.prepared.policy.reviewTtl;
  const result = await passes.proposeVersion(run.pass.lease, { proposal, seenReasons: snapshot.requested, reviewMs });
  if (result.status !== 'proposed') return result;
  const { strategy, tokensBefore, tokensAfter, archived } = settled;
  const sizes = { tokensBefore, tokensAfter, archived, sequences: plan.sequences.length };
  onEvent({ type: 'pass_proposed', ...scopeOf(run), reasons, strategy, ...sizes });
  return result;
}

/** Records that an approval could not be carried out. The proposal stays open. */
export async function answerRefusal(
  run: OwnedPass,
  { refusal }: PassState<'refuse_approval'>,
): Promise<PassFacts['refuse_approval']> {
  const { passes, onEvent } = run.ports;
  const { status } = await passes.refuseApproval(run.pass.lease, refusal);
  if (status === 'refused') onEvent({ type: 'approval_refused', ...scopeOf(run), ...refusal });
  return { status };
}

/** Reports a lost pass. Its summaries stay recorded for the next pass. */
export function reportLost(run: OwnedPass, why: PassState<'lost'>['why']): void {
  const { onEvent } = run.ports;
  if (why !== 'superseded') return onEvent({ type: 'lease_lost', what: 'pass', why, ...scopeOf(run) });
  // A restore or a turn ended the pass on purpose, so this is no lost lease.
  const { reasons } = run.pass;
  onEvent({ type: 'pass_ended', ...scopeOf(run), outcome: why, strategy: 'none', reasons, sequences: 0 });
}

interface Commit {
  readonly version: Version;
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly outcome: 'committed' | 'approved';
  readonly figures: Figures;
}

async function commitVersion(
  run: OwnedPass,
  { snapshot, reasons }: Evaluated,
  { version, summaries, outcome: kind, figures }: Commit,
): Promise<PassFacts['commit']> {
  const outcome = { kind, version: version.number };
  const result = await run.ports.passes.commitVersion(run.pass.lease, {
    ...describeEnd(run, outcome, snapshot, version),
    expectedVersion: version.number - 1,
    version,
    summaries,
    byHash: snapshot.prepared.texts,
    keepVersions: PASS_LIMITS.keepVersions,
  });
  if (result.status === 'version_changed') return result;
  const { number, strategy, tokensBefore, tokensAfter, archived, durationMs } = version;
  const sizes = { version: number, strategy, tokensBefore, tokensAfter, archived, durationMs };
  return await finish(run, result, { outcome, reasons, figures: { ...figures, ...sizes } });
}

function describeEnd(
  { ports }: OwnedPass,
  outcome: PassOutcome,
  { state, requested, prepared }: PassSnapshot,
  version?: Version,
): PassEnd {
  const backoff = backoffAfter({ state, prepared }, outcome, version);
  return { outcome, backoff, wakeTurn: ports.ids.next(), seenReasons: requested, ...idleTtlOf(prepared.policy) };
}

/** How a pass ended, for the event `pass_ended`. */
interface EndReport {
  readonly outcome: PassOutcome;
  readonly reasons: readonly Reason[];
  readonly figures: Figures;
}

async function finish(
  run: OwnedPass,
  result: PassEndResult,
  { outcome, reasons, figures }: EndReport,
): Promise<PassEndResult> {
  if (result.status !== 'ended') return result;
  const { ports, pass } = run;
  if (result.wakeTurn !== undefined)
    await wakeUnlessFull(ports.wakes, 'turn', pass.lease.conversation, result.wakeTurn);
  ports.onEvent({
    type: 'pass_ended',
    ...scopeOf(run),
    outcome: outcome.kind,
    ...(outcome.kind === 'failed' ? { code: outcome.code } : {}),
    strategy: 'none',
    sequences: 0,
    reasons,
    // Most of the time of a reviewed pass is the time until the person decided. An approved version has its own.
    ...(isReviewEnd(outcome) ? {} : { durationMs: sinceRequest(run) }),
    ...figures,
  });
  return result;
}

function isReviewEnd({ kind }: PassOutcome): boolean {
  return kind === 'approved' || kind === 'rejected' || kind === 'expired';
}

async function makeVersion(
  run: OwnedPass,
  { source, settled, reasons, snapshot: { prepared } }: PassState<'commit' | 'propose'>,
  summaries: ReadonlyMap<string, Summary>,
): Promise<Version | undefined> {
  const { head } = source;
  const [last] = await run.ports.contexts.readLog(run.pass.lease.conversation, [{ from: head, to: head }]);
  if (last === undefined) return undefined;
  return buildVersion({
    head,
    settled,
    reasons,
    live: source.version,
    summaries,
    hashes: prepared.hashes,
    baseTotal: last.total,
    overheadBytes: prepared.overhead.bytes,
    durationMs: sinceRequest(run),
    now: run.ports.clock.now(),
  });
}

/** ms since the pass was requested. The clocks of store and process differ, so a negative difference counts as 0. */
function sinceRequest({ ports, pass }: OwnedPass): number {
  return Math.max(0, ports.clock.now() - pass.requestedAt);
}

function findUsedSummaries({ texts, settled }: PassState<'commit' | 'propose'>): Map<string, Summary> {
  return new Map([...texts].filter(([key]) => settled.summaryKeys.includes(key)));
}

/** Lists how the version is worse than its plan. */
function findFallbacks(
  { kind }: PassPlan,
  { strategy, explained, isFloorRelaxed }: SettledContext,
): { readonly fallbacks?: readonly PassFallback[] } {
  const isEvicted = kind === 'summarize' && strategy === 'evict';
  const fallbacks: PassFallback[] = [
    ...(isEvicted ? ['evicted' as const] : []),
    ...(!isEvicted && explained.includes('summaries_missing') ? ['summaries_missing' as const] : []),
    ...(isFloorRelaxed ? ['floor_relaxed' as const] : []),
  ];
  return fallbacks.length === 0 ? {} : { fallbacks };
}
