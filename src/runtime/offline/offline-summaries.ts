import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SummarizationHandler } from '../../domain/ports/handlers.ts';
import type { Summarizer } from '../../domain/ports/summarizer.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import { type AcceptedSummaries, readAccepted } from '../../workers/compaction/summaries.ts';
import { summaryKey } from '../../workers/compaction/summary-key.ts';
import type { PreparedAgent } from '../../workers/prepared-agent.ts';
import type { SummarizationPorts } from '../../workers/summarization/ports.ts';
import { createSummarizationHandler } from '../../workers/summarization/summarization-delivery.ts';
import { systemTimers } from '../../workers/timers.ts';
import { createIdSource, systemClock } from '../system.ts';
import { OFFLINE_PASS, type OfflineConversation } from './offline-conversation.ts';

export type SummarizerChain = (policy: Policy, agent: string) => readonly Summarizer[];

/** The summaries of one conversation, written by the very worker that writes them live, and kept in memory. */
export class OfflineSummaries {
  readonly #conversation: OfflineConversation;
  readonly #policy: Policy;
  readonly #handle: SummarizationHandler;
  readonly #records = new Map<string, SummaryRecord>();
  readonly #parts = new Map<string, string>();

  constructor(conversation: OfflineConversation, prepared: PreparedAgent, summarizers: SummarizerChain) {
    this.#conversation = conversation;
    this.#policy = prepared.policy;
    this.#handle = createSummarizationHandler({
      contexts: conversation.reader,
      summaries: this.#store(),
      summarizers,
      agents: { find: () => prepared },
      clock: systemClock,
      ids: createIdSource(),
      timers: systemTimers,
      onEvent: () => undefined,
    });
  }

  /** Writes what is missing of a plan's summaries, one after the other; answers those that were accepted. */
  async complete(plan: PassPlan): Promise<AcceptedSummaries> {
    const { ref: conversation } = this.#conversation;
    for (const sequence of plan.sequences) {
      await this.#handle({
        task: { conversation, passId: OFFLINE_PASS, sequence, hash: summaryKey(sequence, this.#policy) },
        askedAt: systemClock.now(),
        isLastAttempt: true,
        signal: new AbortController().signal,
      });
    }
    const readSummaries = async (_: unknown, keys: readonly string[]) => keys.map((key) => this.#records.get(key));
    return await readAccepted({ readSummaries }, conversation, plan, this.#policy);
  }

  #store(): SummarizationPorts['summaries'] {
    return {
      claimSummary: async (_, hash) => {
        const record = this.#records.get(hash);
        return record === undefined ? { status: 'claimed' } : { status: 'known', record };
      },
      beatSummary: async () => true,
      recordSummary: async (_, hash, record) => {
        this.#records.set(hash, record);
        return 'recorded';
      },
      releaseSummary: async () => undefined,
      readPart: async (_, key) => this.#parts.get(key),
      recordPart: async (_, key, text) => {
        this.#parts.set(key, text);
        return 'recorded';
      },
    };
  }
}
