import { nextGate } from '../../domain/compaction/breaker.ts';
import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { SettledContext, Settlement } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { ConversationState, Gate } from '../../domain/conversation.ts';
import type { PassFallback, WorkerEvent } from '../../domain/events.ts';
import { PASS_LIMITS, type PassOutcome } from '../../domain/pass.ts';
import type { ClaimedPass, PassEnd, PassEndResult, PassLost } from '../../domain/ports/pass-store.ts';
import type { ApprovalRefusal, Proposal } from '../../domain/proposal.ts';
import { restOf } from '../../domain/rest.ts';
import { contextSize } from '../../domain/size.ts';
import type { Checkpoint, Version } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { buildVersion } from './build-version.ts';
import { findFallbacks } from './pass-fallbacks.ts';
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
  readonly settled: Settlement;
  readonly reasons: readonly Reason[];
  /** the last seq that it was settled over */
  readonly head: number;
  readonly live: Version;
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  readonly setup: Setup;
}

interface CommittedPass {
  readonly outcome: PassOutcome;
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  readonly setup: Setup;
  readonly reasons: readonly Reason[];
  readonly sequences: number;
  readonly fallbacks?: readonly PassFallback[];
}

type Setup = Pick<PreparedAgent, 'policy' | 'overhead' | 'hashes' | 'texts'>;
type EndedEvent = Extract<WorkerEvent, { type: 'pass_ended' }>;
type Figures = Partial<
  Pick<
    EndedEvent,
    'version' | 'tokensBefore' | 'tokensAfter' | 'archived' | 'strategy' | 'sequences' | 'durationMs' | 'fallbacks'
  >
>;

/** Ends a pass, whatever its end: moves the gate, wakes the turn that waited for it, tells the listeners. */
export class PassEnding {
  readonly #ports: CompactionPorts;
  readonly #pass: ClaimedPass;
  readonly #prepared: Setup | undefined;
  #seen: ConversationState;
  #seenReasons: readonly Reason[] = [];

  /** @param prepared absent where the worker does not know the agent: such a pass can only fail */
  constructor(ports: CompactionPorts, pass: ClaimedPass, prepared?: Setup) {
    this.#ports = ports;
    this.#pass = pass;
    this.#prepared = prepared;
    this.#seen = pass.conversation;
  }

  /** The conversation as the pass looked at it: the gate is shut for that, and not for what came behind it. */
  see(state: ConversationState, reasons: readonly Reason[]): void {
    this.#seen = state;
    this.#seenReasons = reasons;
  }

  /** Ends without a version. Undefined: reasons were added since they were read, nothing was written. */
  async end(outcome: PassOutcome, reasons: readonly Reason[], figures: Figures = {}): Promise<EndedPass | undefined> {
    const result = await this.#ports.passes.endPass(this.#pass.lease, this.#end(outcome));
    if (result.status === 'reasons_added') return undefined;
    return await this.#finish(result, outcome, reasons, figures);
  }

  /** Ends as failed, whatever reasons came meanwhile. */
  async fail(code: string, reasons: readonly Reason[]): Promise<EndedPass> {
    return (await this.end({ kind: 'failed', code }, reasons)) ?? this.lose('superseded');
  }

  /** Commits what was settled. Undefined: another version became the live one, or reasons were added; nothing was written. */
  async commit(pass: SettledPass): Promise<EndedPass | undefined> {
    const { plan, settled, reasons } = pass;
    const sequences = plan.sequences.length;
    if (settled.kind !== 'version') {
      const { kind } = settled;
      const sizes = kind === 'no_gain' ? { tokensBefore: settled.tokensBefore, tokensAfter: settled.tokensAfter } : {};
      return await this.end({ kind }, reasons, { sequences, ...sizes });
    }
    const checkpoints = usedCheckpoints(pass, settled);
    const version = await this.#buildVersion({ ...pass, checkpoints }, settled);
    if (version === undefined) return this.lose('gone');
    const outcome: PassOutcome = { kind: 'committed', version: version.number };
    const figures = { sequences, ...findFallbacks(plan, settled) };
    return await this.#commitVersion(version, { outcome, checkpoints, setup: pass.setup, reasons, ...figures });
  }

  async #commitVersion(
    version: Version,
    { outcome, checkpoints, setup, reasons, ...figures }: CommittedPass,
  ): Promise<EndedPass | undefined> {
    const result = await this.#ports.passes.commitVersion(this.#pass.lease, {
      ...this.#end(outcome),
      expectedVersion: version.number - 1,
      version,
      checkpoints,
      whole: setup.texts,
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
    const checkpoints = usedCheckpoints(pass, settled);
    const version = await this.#buildVersion({ ...pass, checkpoints }, settled);
    if (version === undefined) return this.lose('gone');
    const proposal = { id: ids.next(), version, checkpoints: Object.fromEntries(checkpoints) };
    const result = await passes.proposeVersion(lease, { proposal, seenReasons: this.#seenReasons, reviewMs });
    if (result.status === 'version_changed' || result.status === 'reasons_added') return undefined;
    if (result.status !== 'proposed') return this.lose(result.status);
    const { conversation, passId } = lease;
    const { strategy, tokensBefore, tokensAfter, archived } = settled;
    const sequences = pass.plan.sequences.length;
    const sizes = { tokensBefore, tokensAfter, archived, sequences };
    onEvent({ type: 'pass_proposed', conversation, passId, reasons: pass.reasons, strategy, ...sizes });
    return { status: 'waiting' };
  }

  /** Commits what somebody approved of. Undefined: as for `commit`. */
  async approve(
    { version: proposed, checkpoints }: Proposal,
    setup: Setup,
    reasons: readonly Reason[],
  ): Promise<EndedPass | undefined> {
    const { policy: policyHash, system: systemHash, tools: toolsHash, pins: pinsHash } = setup.hashes;
    const version: Version = {
      ...proposed,
      policyHash,
      systemHash,
      toolsHash,
      pinsHash,
      at: this.#ports.clock.now(),
    };
    const texts = new Map(Object.entries(checkpoints));
    const outcome = { kind: 'approved', version: version.number } as const;
    return await this.#commitVersion(version, { outcome, checkpoints: texts, setup, reasons, sequences: texts.size });
  }

  /** Answers an approval that cannot be carried out; the proposal waits on. `dropped`: it does not, the pass goes on. */
  async refuse(refusal: ApprovalRefusal): Promise<WaitingPass | EndedPass | 'dropped'> {
    const { lease } = this.#pass;
    const { status } = await this.#ports.passes.refuseApproval(lease, refusal);
    if (status === 'dropped') return status;
    if (status !== 'refused') return this.lose(status);
    const { conversation, passId } = lease;
    this.#ports.onEvent({ type: 'approval_refused', conversation, passId, ...refusal });
    return { status: 'waiting' };
  }

  /** Tells of a version that was settled and must not be sent. Nothing is written. */
  reject(version: number, refusal: Refusal): void {
    const { conversation, passId } = this.#pass.lease;
    this.#ports.onEvent({ type: 'version_rejected', by: 'check', conversation, passId, version, ...refusal });
  }

  /** The pass is no longer ours: nothing is written, and its summaries stay for the next one. */
  lose(status: PassLost['status']): EndedPass {
    const { conversation, passId } = this.#pass.lease;
    const why = status === 'gone' ? 'gone' : 'fenced';
    this.#ports.onEvent({ type: 'lease_lost', what: 'pass', why, conversation, passId });
    return { status: 'ended', outcome: 'superseded' };
  }

  #end(outcome: PassOutcome): PassEnd {
    const wakeTurn = this.#ports.ids.next();
    // A failure ends the pass whoever waits for it.
    const seen = outcome.kind === 'failed' ? {} : { seenReasons: this.#seenReasons };
    return { outcome, gate: this.#nextGate(outcome), wakeTurn, ...seen, ...restOf(this.#prepared?.policy) };
  }

  #nextGate(outcome: PassOutcome): Gate {
    const { gate, size } = this.#seen;
    if (this.#prepared === undefined) return gate;
    const { policy, overhead } = this.#prepared;
    return nextGate(gate, outcome, contextSize(size, overhead).tokens, policy.minSequenceTokens);
  }

  /** Who does not approve of a proposal shuts the gate, too, which is no breaker. */
  #opensBreaker(outcome: PassOutcome): boolean {
    return outcome.kind === 'no_gain' && this.#nextGate(outcome).breakerTokens > this.#seen.gate.breakerTokens;
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
      conversation,
      passId,
      outcome: outcome.kind,
      ...(outcome.kind === 'failed' ? { code: outcome.code } : {}),
      strategy: 'none',
      sequences: 0,
      reasons,
      // How long a person took says nothing of the pass.
      ...(isReviewEnd(outcome) ? {} : { durationMs: this.#durationMs() }),
      ...(this.#opensBreaker(outcome) && { opensBreaker: true }),
      ...figures,
    });
    return { status: 'ended', outcome: outcome.kind };
  }

  async #buildVersion(
    { head, reasons, live, checkpoints, setup }: SettledPass,
    settled: SettledContext,
  ): Promise<Version | undefined> {
    const [last] = await this.#ports.contexts.readLog(this.#pass.lease.conversation, [{ from: head, to: head }]);
    if (last === undefined) return undefined;
    return buildVersion({
      head,
      settled,
      reasons,
      live,
      checkpoints,
      hashes: setup.hashes,
      baseTotal: last.total,
      overheadBytes: setup.overhead.bytes,
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

/** Those of the accepted checkpoints that what was settled names. */
function usedCheckpoints({ checkpoints }: SettledPass, { texts }: SettledContext): Map<string, Checkpoint> {
  return new Map([...checkpoints].filter(([key]) => texts.includes(key)));
}
