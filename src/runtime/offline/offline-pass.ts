import { nextGate } from '../../domain/compaction/breaker.ts';
import type { BudgetInfeasible } from '../../domain/compaction/infeasible.ts';
import { type PlanRequest, planPass } from '../../domain/compaction/plan.ts';
import type { SettledContext } from '../../domain/compaction/settle.ts';
import { hasHardReason, type Reason } from '../../domain/compaction/thresholds.ts';
import { type Message, NO_WEIGHT, type Weight } from '../../domain/message.ts';
import type { PassOutcome } from '../../domain/pass.ts';
import { contextSize } from '../../domain/size.ts';
import type { Checkpoint } from '../../domain/version.ts';
import { buildVersion } from '../../workers/compaction/build-version.ts';
import { checkVersion } from '../../workers/compaction/check-version.ts';
import { evaluateRequest } from '../../workers/compaction/evaluate.ts';
import { type Refusal, settleSendable } from '../../workers/compaction/settle-sendable.ts';
import { isThinkingLoopOpen } from '../../workers/compaction/thinking-loop.ts';
import type { PreparedAgent } from '../../workers/prepared-agent.ts';
import { systemClock } from '../system.ts';
import { OfflineConversation } from './offline-conversation.ts';
import { OfflineSummaries, type SummarizerChain } from './offline-summaries.ts';

/** How a pass ended, and why it was made. */
export type OfflineOutcome = { readonly reasons: readonly Reason[] } & (
  | { readonly kind: 'none' }
  | { readonly kind: 'version'; readonly settled: SettledContext }
  | { readonly kind: 'infeasible'; readonly details: BudgetInfeasible }
  /** what it would have committed breaks a rule of a format */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
);

/** Makes the passes of one conversation in memory: evaluated, planned, summarized, settled and checked by the workers' code. */
export class OfflinePasses {
  readonly conversation: OfflineConversation;
  readonly #prepared: PreparedAgent;
  readonly #summaries: OfflineSummaries;

  constructor(id: string, prepared: PreparedAgent, summarizers: SummarizerChain) {
    this.conversation = new OfflineConversation(id);
    this.#prepared = prepared;
    this.#summaries = new OfflineSummaries(this.conversation, prepared, summarizers);
  }

  async run(requested: readonly Reason[]): Promise<OfflineOutcome> {
    const { conversation } = this;
    const reasons = evaluateRequest(this.#prepared, conversation.state, requested);
    const isBound = !hasHardReason(reasons) && isThinkingLoopOpen(conversation.context.items);
    if (reasons.length === 0 || isBound) return { kind: 'none', reasons };
    const request = this.#request(reasons);
    const plan = planPass(request);
    if (plan.infeasible !== undefined) {
      return this.#end({ kind: 'infeasible', details: plan.infeasible, reasons }, { kind: 'infeasible' });
    }
    if (plan.kind === 'none' || plan.kind === 'infeasible')
      return this.#end({ kind: 'none', reasons }, { kind: 'none' });
    const { summaries, checkpoints } = await this.#summaries.complete(plan);
    let refusal: Refusal = { codes: [], message: '' };
    const settled = settleSendable(
      { ...request, plan, summaries },
      {
        quarantine: undefined,
        check: (made) => checkVersion(this.#prepared, conversation.source, made, checkpoints),
        onRefusal: (found) => {
          refusal = found;
        },
      },
    );
    switch (settled.kind) {
      case 'version':
        return this.#commit(settled, reasons, checkpoints);
      case 'refused':
        return this.#end({ kind: 'refused', refusal, reasons }, { kind: 'failed', code: 'invalid_context' });
      case 'infeasible':
        return this.#end({ kind: 'infeasible', details: settled.details, reasons }, { kind: 'infeasible' });
      default:
        return this.#end({ kind: 'none', reasons }, { kind: settled.kind });
    }
  }

  #request(reasons: readonly Reason[]): PlanRequest {
    const { context, firstUserSeq } = this.conversation;
    const prepared = this.#prepared;
    const { policy, limits, overhead } = prepared;
    const weigh = (message: Message): Weight => prepared.weighNow(message);
    const first = firstUserSeq === undefined ? {} : { firstUserSeq };
    return { context, policy, limits, overhead, reasons, weigh, ...first };
  }

  #commit(
    settled: SettledContext,
    reasons: readonly Reason[],
    accepted: ReadonlyMap<string, Checkpoint>,
  ): OfflineOutcome {
    const { conversation } = this;
    const checkpoints = new Map([...accepted].filter(([key]) => settled.texts.includes(key)));
    const version = buildVersion({
      head: conversation.head,
      settled,
      reasons,
      live: conversation.version,
      checkpoints,
      hashes: this.#prepared.hashes,
      baseTotal: conversation.last?.total ?? NO_WEIGHT,
      overheadBytes: this.#prepared.overhead.bytes,
      durationMs: 0,
      now: systemClock.now(),
    });
    // The gate is set from the size at which the pass looked, as live.
    const ended = this.#end({ kind: 'version', settled, reasons }, { kind: 'committed', version: version.number });
    conversation.commit(version, checkpoints);
    return ended;
  }

  #end(outcome: OfflineOutcome, ended: PassOutcome): OfflineOutcome {
    const { gate, size } = this.conversation.state;
    const { policy, overhead } = this.#prepared;
    const { tokens } = contextSize(size, overhead);
    this.conversation.endPass(nextGate(gate, ended, tokens, policy.minSequenceTokens));
    return outcome;
  }
}
