import { backOffAppends, nextBackoff } from '../../domain/compaction/backoff.ts';
import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { SettledContext, SettleOutcome } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { EventScope, WorkerEvent } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { PASS_LIMITS, type PassOutcome } from '../../domain/pass.ts';
import type { PassFallback } from '../../domain/pass-events.ts';
import { idleTtlOf, type Policy } from '../../domain/policy.ts';
import type { ClaimedPass, PassEnd, PassEndResult, PassLost } from '../../domain/ports/pass-store.ts';
import type { ApprovalRefusal, Proposal } from '../../domain/proposal.ts';
import { contextSize, NO_OVERHEAD } from '../../domain/size.ts';
import type { Summary, Version } from '../../domain/version.ts';
import { buildVersion } from './build-version.ts';
import { findFallbacks } from './pass-fallbacks.ts';
import type { PassLook } from './pass-look.ts';
import type { CompactionPorts } from './ports.ts';
import type { Refusal } from './settle-sendable.ts';

export interface EndedPass {
  readonly status: 'ended';
  readonly outcome: PassOutcome['kind'] | 'superseded';
}

/** It has proposed a version, and waits without a lease for what somebody decides. */
export interface WaitingPass {
  readonly status: 'waiting';
}

export interface SettledPass {
  readonly plan: PassPlan;
  readonly settled: SettleOutcome;
  readonly reasons: readonly Reason[];
  /** the last seq that it was settled over */
  readonly head: number;
  readonly live: Version;
  readonly texts: ReadonlyMap<string, Summary>;
  readonly look: PassLook;
}

interface CommittedPass {
  readonly outcome: PassOutcome;
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly look: PassLook;
  readonly reasons: readonly Reason[];
  readonly sequences: number;
  readonly fallbacks?: readonly PassFallback[];
}

type EndedEvent = Extract<WorkerEvent, { type: 'pass_ended' }>;
type Figures = Partial<
  Pick<
    EndedEvent,
    | 'version'
    | 'tokensBefore'
    | 'tokensAfter'
    | 'archived'
    | 'strategy'
    | 'sequences'
    | 'durationMs'
    | 'fallbacks'
    | 'startsBackoff'
  >
>;

/** Ends a pass, whatever its end: moves the backoff, wakes the turn that waited for it, tells the listeners. */
export class PassEnding {
  readonly #ports: CompactionPorts;
  readonly #pass: ClaimedPass;

  constructor(ports: CompactionPorts, pass: ClaimedPass) {
    this.#ports = ports;
    this.#pass = pass;
  }

  /** Ends without a version. Undefined: reasons were added since it looked, nothing was written. */
  async end(
    outcome: PassOutcome,
    look: PassLook,
    reasons: readonly Reason[],
    figures: Figures = {},
  ): Promise<EndedPass | undefined> {
    const end = this.#end(outcome, look);
    const result = await this.#ports.passes.endPass(this.#pass.lease, end);
    if (result.status === 'reasons_added') return undefined;
    // Who does not approve of a proposal shuts the backoff, too, which is no breaker.
    const startsBackoff =
      outcome.kind === 'no_gain' && end.backoff.noGainBelowTokens > look.state.backoff.noGainBelowTokens;
    return await this.#finish(result, outcome, reasons, { ...figures, ...(startsBackoff && { startsBackoff }) });
  }

  /** Ends as failed, whatever reasons came meanwhile, with the backoff as it was. Without a policy where the agent is not known. */
  async fail(code: string, reasons: readonly Reason[], policy?: Policy): Promise<EndedPass> {
    const outcome = { kind: 'failed', code } as const;
    const { backoff } = this.#pass.conversation;
    const end = { outcome, backoff, wakeTurn: this.#ports.ids.next(), ...idleTtlOf(policy) };
    const result = await this.#ports.passes.endPass(this.#pass.lease, end);
    if (result.status === 'reasons_added') return this.lose('superseded');
    return await this.#finish(result, outcome, reasons, {});
  }

  /** Commits what was settled. Undefined: another version became the live one, or reasons were added; nothing was written. */
  async commit(pass: SettledPass): Promise<EndedPass | undefined> {
    const { plan, settled, reasons, look } = pass;
    const sequences = plan.sequences.length;
    if (settled.kind !== 'version') {
      const { kind } = settled;
      const sizes = kind === 'no_gain' ? { tokensBefore: settled.tokensBefore, tokensAfter: settled.tokensAfter } : {};
      return await this.end({ kind }, look, reasons, { sequences, ...sizes });
    }
    const summaries = usedSummaries(pass, settled);
    const version = await this.#buildVersion({ ...pass, texts: summaries }, settled);
    if (version === undefined) return this.lose('gone');
    const outcome: PassOutcome = { kind: 'committed', version: version.number };
    const figures = { sequences, ...findFallbacks(plan, settled) };
    return await this.#commitVersion(version, { outcome, summaries, look, reasons, ...figures });
  }

  async #commitVersion(
    version: Version,
    { outcome, summaries, look, reasons, ...figures }: CommittedPass,
  ): Promise<EndedPass | undefined> {
    const result = await this.#ports.passes.commitVersion(this.#pass.lease, {
      ...this.#end(outcome, look),
      expectedVersion: version.number - 1,
      version,
      summaries,
      whole: look.prepared.texts,
      keepVersions: PASS_LIMITS.keepVersions,
    });
    if (result.status === 'version_changed' || result.status === 'reasons_added') return undefined;
    const { strategy, tokensBefore, tokensAfter, archived } = version;
    return await this.#finish(result, outcome, reasons, {
      ...figures,
      strategy,
      version: version.number,
      tokensBefore,
      tokensAfter,
      archived,
      durationMs: version.durationMs,
    });
  }

  /** Proposes what was settled, in the place of its commit. Undefined: as for `commit`. */
  async propose(
    pass: SettledPass,
    settled: SettledContext,
    reviewMs: number,
  ): Promise<WaitingPass | EndedPass | undefined> {
    const { passes, ids, onEvent } = this.#ports;
    const { lease } = this.#pass;
    const summaries = usedSummaries(pass, settled);
    const version = await this.#buildVersion({ ...pass, texts: summaries }, settled);
    if (version === undefined) return this.lose('gone');
    const proposal = { id: ids.next(), version, summaries: Object.fromEntries(summaries) };
    const result = await passes.proposeVersion(lease, { proposal, seenReasons: pass.look.requested, reviewMs });
    if (result.status === 'version_changed' || result.status === 'reasons_added') return undefined;
    if (result.status !== 'proposed') return this.lose(result.status);
    const { strategy, tokensBefore, tokensAfter, archived } = settled;
    const sequences = pass.plan.sequences.length;
    const sizes = { tokensBefore, tokensAfter, archived, sequences };
    onEvent({ type: 'pass_proposed', ...this.#about(), reasons: pass.reasons, strategy, ...sizes });
    return { status: 'waiting' };
  }

  /** Commits what somebody approved of. Undefined: as for `commit`. */
  async approve(
    { version: proposed, summaries }: Proposal,
    look: PassLook,
    reasons: readonly Reason[],
  ): Promise<EndedPass | undefined> {
    const { policy: policyHash, system: systemHash, tools: toolsHash, pins: pinsHash } = look.prepared.hashes;
    const version: Version = {
      ...proposed,
      policyHash,
      systemHash,
      toolsHash,
      pinsHash,
      at: this.#ports.clock.now(),
    };
    const texts = new Map(Object.entries(summaries));
    const outcome = { kind: 'approved', version: version.number } as const;
    return await this.#commitVersion(version, { outcome, summaries: texts, look, reasons, sequences: texts.size });
  }

  /** Answers an approval that cannot be carried out; the proposal waits on. `dropped`: it does not, the pass goes on. */
  async refuse(refusal: ApprovalRefusal): Promise<WaitingPass | EndedPass | 'dropped'> {
    const { lease } = this.#pass;
    const { status } = await this.#ports.passes.refuseApproval(lease, refusal);
    if (status === 'dropped') return status;
    if (status !== 'refused') return this.lose(status);
    this.#ports.onEvent({ type: 'approval_refused', ...this.#about(), ...refusal });
    return { status: 'waiting' };
  }

  /** The pass as events name it. */
  #about(): EventScope {
    const { conversation, passId } = this.#pass.lease;
    return { ...nameConversation(conversation), passId };
  }

  /** Tells of a version that was settled and must not be sent. Nothing is written. */
  reject(version: number, refusal: Refusal): void {
    this.#ports.onEvent({ type: 'version_rejected', by: 'check', ...this.#about(), version, ...refusal });
  }

  /** The pass is no longer ours: nothing is written, and its summaries stay for the next one. */
  lose(status: PassLost['status']): EndedPass {
    const about = this.#about();
    const outcome = 'superseded';
    // Ended or taken from outside, it was no lease that failed.
    if (status === outcome) {
      const { reasons } = this.#pass;
      this.#ports.onEvent({ type: 'pass_ended', ...about, outcome, strategy: 'none', reasons, sequences: 0 });
    } else {
      this.#ports.onEvent({ type: 'lease_lost', what: 'pass', why: status, ...about });
    }
    return { status: 'ended', outcome };
  }

  #end(outcome: PassOutcome, { state, requested, prepared }: PassLook): PassEnd {
    const { policy, limits, overhead } = prepared;
    const { tokens } = contextSize(state.size, overhead);
    const { tokens: messageTokens } = contextSize(state.size, NO_OVERHEAD);
    const { calibration } = overhead;
    const { hardTokens } = limits;
    const next = nextBackoff(state.backoff, outcome, tokens, policy.minSequenceTokens);
    const backoff = backOffAppends(next, { tokens, messageTokens, calibration, hardTokens });
    return { outcome, backoff, wakeTurn: this.#ports.ids.next(), seenReasons: requested, ...idleTtlOf(policy) };
  }

  async #finish(
    result: Exclude<PassEndResult, { status: 'reasons_added' }>,
    outcome: PassOutcome,
    reasons: readonly Reason[],
    figures: Figures,
  ): Promise<EndedPass> {
    if (result.status !== 'ended') return this.lose(result.status);
    const { conversation, passId } = this.#pass.lease;
    if (result.wakeTurn !== undefined) await this.#ports.wakes.wake('turn', conversation, result.wakeTurn);
    this.#ports.onEvent({
      type: 'pass_ended',
      ...nameConversation(conversation),
      passId,
      outcome: outcome.kind,
      ...(outcome.kind === 'failed' ? { code: outcome.code } : {}),
      strategy: 'none',
      sequences: 0,
      reasons,
      // How long a person took says nothing of the pass.
      ...(isReviewEnd(outcome) ? {} : { durationMs: this.#durationMs() }),
      ...figures,
    });
    return { status: 'ended', outcome: outcome.kind };
  }

  async #buildVersion(
    { head, reasons, live, texts: summaries, look: { prepared } }: SettledPass,
    settled: SettledContext,
  ): Promise<Version | undefined> {
    const [last] = await this.#ports.contexts.readLog(this.#pass.lease.conversation, [{ from: head, to: head }]);
    if (last === undefined) return undefined;
    return buildVersion({
      head,
      settled,
      reasons,
      live,
      summaries,
      hashes: prepared.hashes,
      baseTotal: last.total,
      overheadBytes: prepared.overhead.bytes,
      durationMs: this.#durationMs(),
      now: this.#ports.clock.now(),
    });
  }

  /** From the store's clock to this process's: never less than nothing, however the two differ. */
  #durationMs(): number {
    return Math.max(0, this.#ports.clock.now() - this.#pass.requestedAt);
  }
}

function isReviewEnd({ kind }: PassOutcome): boolean {
  return kind === 'approved' || kind === 'rejected' || kind === 'expired';
}

/** Those of the accepted summaries that what was settled names. */
function usedSummaries({ texts: written }: SettledPass, { texts }: SettledContext): Map<string, Summary> {
  return new Map([...written].filter(([key]) => texts.includes(key)));
}
