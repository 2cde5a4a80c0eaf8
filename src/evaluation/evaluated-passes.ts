import { isCounted, type Reason } from '../domain/pass.ts';
import type { PassPlan } from '../domain/pass-plan.ts';
import type { Version } from '../domain/version.ts';
import { backoffAfter, buildVersion } from '../workers/compaction/pass-results.ts';
import type { AcceptedSummaries } from '../workers/compaction/sequence-summaries.ts';
import { summarizeInTrial, type TrialOutcome, tryPass } from '../workers/compaction/trial-pass.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';
import { systemTimers } from '../workers/timers.ts';
import type { SummarizationPorts } from '../workers/worker-ports.ts';
import { EvaluatedConversation } from './evaluated-conversation.ts';

export type SummarizerChain = SummarizationPorts['summarizers'];

type MadeVersion = Extract<TrialOutcome, { kind: 'version' }>;

/** Runs passes of one conversation in memory. The code of the workers decides, summarizes and settles. */
export class EvaluatedPasses {
  readonly conversation: EvaluatedConversation;
  readonly #prepared: PreparedAgent;
  readonly #summarizers: SummarizerChain;
  #ids = 0;

  constructor(prepared: PreparedAgent, summarizers: SummarizerChain) {
    this.conversation = new EvaluatedConversation(prepared.agent.name);
    this.#prepared = approveReviews(prepared);
    this.#summarizers = summarizers;
  }

  /** Runs a pass. Its summarization jobs run one after the other. */
  async run(requested: readonly Reason[]): Promise<TrialOutcome> {
    const { conversation } = this;
    const prepared = this.#prepared;
    const { state, source, context, firstUserSeq } = conversation;
    let texts: AcceptedSummaries['texts'] = new Map();
    const outcome = await tryPass({
      prepared,
      state,
      source,
      context,
      firstUserSeq,
      requested,
      complete: async (plan) => {
        const accepted = await this.#summarize(plan);
        texts = accepted.texts;
        return accepted;
      },
    });
    const snapshot = { state, prepared };
    if (outcome.kind === 'version') {
      const version = this.#buildVersion(outcome, texts);
      const end = { kind: 'committed', version: version.number } as const;
      conversation.commit(version, texts, backoffAfter(snapshot, end, version));
    } else {
      const end = outcome.kind === 'refused' ? ({ kind: 'failed', code: 'invalid_context' } as const) : outcome;
      conversation.endPass(backoffAfter(snapshot, end), { isCounted: isCounted(end.kind) });
    }
    return outcome;
  }

  async #summarize(plan: PassPlan): Promise<AcceptedSummaries> {
    const { ref, readers, written } = this.conversation;
    const trial = {
      conversation: ref,
      prepared: this.#prepared,
      contexts: readers,
      summarizers: this.#summarizers,
      written,
      clock: { now: () => Date.now() },
      ids: { next: () => this.#nextId() },
      timers: systemTimers,
      onEvent: () => undefined,
    };
    return await summarizeInTrial(trial, plan);
  }

  #buildVersion({ settled, reasons }: MadeVersion, texts: AcceptedSummaries['texts']): Version {
    const { head, last, context } = this.conversation;
    if (last === undefined) throw new Error('a version was made of an empty log. This is a bug in turnfold');
    const { hashes, overhead } = this.#prepared;
    return buildVersion({
      head,
      settled,
      reasons,
      live: context.version,
      summaries: new Map([...texts].filter(([key]) => settled.summaryKeys.includes(key))),
      hashes,
      baseTotal: last.total,
      overheadBytes: overhead.bytes,
      durationMs: 0,
      now: 0,
    });
  }

  #nextId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }
}

/** No person approves proposals in an evaluation, so a policy with reviews commits at once. */
function approveReviews(prepared: PreparedAgent): PreparedAgent {
  const { policy } = prepared;
  return policy.mode === 'review' ? { ...prepared, policy: { ...policy, mode: 'auto' } } : prepared;
}
