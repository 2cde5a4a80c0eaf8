import { nextBackoff } from '../domain/compaction/backoff.ts';
import type { Reason } from '../domain/compaction/thresholds.ts';
import { NO_WEIGHT } from '../domain/message.ts';
import { isCounted, type PassOutcome } from '../domain/pass.ts';
import { contextSize } from '../domain/size.ts';
import { createIdSource, systemClock } from '../runtime/system.ts';
import { buildVersion } from '../workers/compaction/build-version.ts';
import { type TrialOutcome, tryPass } from '../workers/compaction/trial-pass.ts';
import { TrialSummaries } from '../workers/compaction/trial-summaries.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';
import type { SummarizationPorts } from '../workers/summarization/ports.ts';
import { systemTimers } from '../workers/timers.ts';
import { OfflineConversation } from './offline-conversation.ts';

export type SummarizerChain = SummarizationPorts['summarizers'];

/** Makes the passes of one conversation in memory: evaluated, planned, summarized, settled and checked by the workers' code. */
export class OfflinePasses {
  readonly conversation: OfflineConversation;
  readonly #prepared: PreparedAgent;
  readonly #summaries: TrialSummaries;

  constructor(id: string, prepared: PreparedAgent, summarizers: SummarizerChain) {
    this.conversation = new OfflineConversation(id);
    this.#prepared = prepared;
    this.#summaries = new TrialSummaries({
      conversation: this.conversation.ref,
      contexts: this.conversation.reader,
      prepared,
      summarizers,
      clock: systemClock,
      ids: createIdSource(),
      timers: systemTimers,
    });
  }

  /** One pass, and what it leaves: the version, if there is one, and the backoff. */
  async run(requested: readonly Reason[]): Promise<TrialOutcome> {
    const { conversation } = this;
    const { state, source, context, firstUserSeq } = conversation;
    const outcome = await tryPass({
      prepared: this.#prepared,
      state,
      source,
      context,
      firstUserSeq,
      requested,
      complete: (plan) => this.#summaries.complete(plan),
    });
    if (outcome.kind === 'version') this.#commit(outcome);
    else this.#end(passOutcome(outcome.kind));
    return outcome;
  }

  #commit({ settled, reasons, summaries }: Extract<TrialOutcome, { kind: 'version' }>): void {
    const { conversation } = this;
    const version = buildVersion({
      head: conversation.head,
      settled,
      reasons,
      live: conversation.version,
      summaries,
      hashes: this.#prepared.hashes,
      baseTotal: conversation.last?.total ?? NO_WEIGHT,
      overheadBytes: this.#prepared.overhead.bytes,
      durationMs: 0,
      now: systemClock.now(),
    });
    // The backoff is set from the size at which the pass looked, as live.
    this.#end({ kind: 'committed', version: version.number });
    conversation.commit(version, summaries);
  }

  #end(ended: PassOutcome): void {
    const { backoff, size } = this.conversation.state;
    const { policy, overhead } = this.#prepared;
    const { tokens } = contextSize(size, overhead);
    const next = nextBackoff(backoff, ended, tokens, policy.minSequenceTokens);
    this.conversation.endPass(next, isCounted(ended.kind));
  }
}

function passOutcome(kind: Exclude<TrialOutcome['kind'], 'version'>): PassOutcome {
  return kind === 'refused' ? { kind: 'failed', code: 'invalid_context' } : { kind };
}
