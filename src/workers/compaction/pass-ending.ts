import { nextGate } from '../../domain/compaction/breaker.ts';
import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { SettledContext, Settlement } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { WorkerEvent } from '../../domain/events.ts';
import { PASS_LIMITS, type PassOutcome } from '../../domain/pass.ts';
import type { ClaimedPass, PassEnd, PassEndResult, PassLost } from '../../domain/ports/pass-store.ts';
import { contextSize } from '../../domain/size.ts';
import type { Checkpoint, Version } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { buildVersion } from './build-version.ts';
import type { CompactionPorts } from './ports.ts';
import type { Refusal } from './settle-sendable.ts';

export interface EndedPass {
  readonly status: 'ended';
  readonly outcome: PassOutcome['kind'] | 'superseded';
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

type Setup = Pick<PreparedAgent, 'policy' | 'overhead' | 'hashes'>;
type EndedEvent = Extract<WorkerEvent, { type: 'pass_ended' }>;
type Figures = Partial<
  Pick<EndedEvent, 'version' | 'tokensBefore' | 'tokensAfter' | 'archived' | 'strategy' | 'sequences'>
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
    const { plan, settled, reasons, live } = pass;
    const sequences = plan.sequences.length;
    if (settled.kind !== 'version') {
      const { kind } = settled;
      const sizes = kind === 'no_gain' ? { tokensBefore: settled.tokensBefore, tokensAfter: settled.tokensAfter } : {};
      return await this.end({ kind }, reasons, { sequences, ...sizes });
    }
    const checkpoints = new Map([...pass.checkpoints].filter(([key]) => settled.texts.includes(key)));
    const version = await this.#buildVersion({ ...pass, checkpoints }, settled);
    if (version === undefined) return this.lose('gone');
    const outcome: PassOutcome = { kind: 'committed', version: version.number };
    const result = await this.#ports.passes.commitVersion(this.#pass.lease, {
      ...this.#end(outcome),
      expectedVersion: live.number,
      version,
      checkpoints,
      keepVersions: PASS_LIMITS.keepVersions,
    });
    if (result.status === 'version_changed' || result.status === 'reasons_added') return undefined;
    const { strategy, tokensBefore, tokensAfter, archived } = settled;
    return await this.#finish(result, outcome, reasons, {
      strategy,
      sequences,
      version: version.number,
      tokensBefore,
      tokensAfter,
      archived,
    });
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
    const { gate, size } = this.#seen;
    // A failure ends the pass whoever waits for it.
    const seenReasons = outcome.kind === 'failed' ? [] : this.#seenReasons;
    if (this.#prepared === undefined) return { outcome, gate, wakeTurn };
    const { policy, overhead } = this.#prepared;
    const { tokens } = contextSize(size, overhead);
    return { outcome, gate: nextGate(gate, outcome, tokens, policy.minSequenceTokens), wakeTurn, seenReasons };
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
      durationMs: this.#durationMs(),
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
