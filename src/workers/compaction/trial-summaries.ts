import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { EventListener } from '../../domain/events.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { SummarizationHandler } from '../../domain/ports/queue.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import { noTracing } from '../../domain/ports/tracing.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { Shutdown } from '../shutdown.ts';
import type { SummarizationPorts } from '../summarization/ports.ts';
import { createSummarizationHandler } from '../summarization/summarization-delivery.ts';
import { type AcceptedSummaries, readAccepted, summaryKey, summaryPolicy } from './sequence-summaries.ts';

/** Id of the only pass of a trial. */
const TRIAL_PASS = 'trial';

export interface TrialSummariesParts
  extends Pick<SummarizationPorts, 'contexts' | 'summarizers' | 'clock' | 'ids' | 'timers'> {
  readonly conversation: ConversationRef;
  readonly prepared: PreparedAgent;
  /** Receives the failures of summarizers. */
  readonly onEvent?: EventListener;
}

/** Summaries of one conversation, written by the handler of live summaries and kept in memory. */
export class TrialSummaries {
  readonly #conversation: ConversationRef;
  readonly #prepared: PreparedAgent;
  readonly #contexts: TrialSummariesParts['contexts'];
  readonly #clock: TrialSummariesParts['clock'];
  readonly #handle: SummarizationHandler;
  readonly #records = new Map<string, SummaryRecord>();
  readonly #parts = new Map<string, string>();

  constructor({ conversation, prepared, contexts, onEvent = () => undefined, ...ports }: TrialSummariesParts) {
    this.#conversation = conversation;
    this.#prepared = prepared;
    this.#contexts = contexts;
    this.#clock = ports.clock;
    this.#handle = createSummarizationHandler({
      ...ports,
      contexts: inTrial(contexts),
      summaries: this.#store(),
      agents: { find: () => prepared },
      onEvent,
      tracing: noTracing,
      shutdown: new Shutdown(),
    });
  }

  /** Writes the missing summaries of a plan, one after the other, and returns the accepted ones. */
  async complete(plan: PassPlan): Promise<AcceptedSummaries> {
    const conversation = this.#conversation;
    const state = await this.#contexts.readConversation(conversation);
    const policy = state === undefined ? this.#prepared.policy : summaryPolicy(this.#prepared.policy, state);
    for (const sequence of plan.sequences) {
      await this.#handle({
        task: { conversation, passId: TRIAL_PASS, sequence, hash: summaryKey(sequence, policy) },
        askedAt: this.#clock.now(),
        isLastAttempt: true,
      });
    }
    const readSummaries = async (_: unknown, keys: readonly string[]) => keys.map((key) => this.#records.get(key));
    return await readAccepted({ readSummaries }, conversation, plan, policy);
  }

  #store(): SummarizationPorts['summaries'] {
    return {
      claimSummary: async (_, hash) => {
        const record = this.#records.get(hash);
        return record === undefined ? { status: 'claimed' } : { status: 'known', record };
      },
      heartbeatSummary: async () => true,
      recordSummary: async ({ hash }, record) => {
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

/** The handler writes only for the pass in progress, so the trial stands in for it. */
function inTrial(contexts: SummarizationPorts['contexts']): SummarizationPorts['contexts'] {
  return {
    readConversation: async (conversation) => {
      const state = await contexts.readConversation(conversation);
      return state === undefined ? undefined : { ...state, passId: TRIAL_PASS };
    },
    readContext: (conversation, at) => contexts.readContext(conversation, at),
    readLog: (conversation, ranges) => contexts.readLog(conversation, ranges),
  };
}
