import type { BudgetInfeasible } from '../domain/compaction/budget.ts';
import type { SettledContext } from '../domain/compaction/settle.ts';
import type { Reason } from '../domain/compaction/thresholds.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { WorkerEvent } from '../domain/events.ts';
import { noTracing } from '../domain/ports/tracing.ts';
import { createPassHandler } from '../workers/compaction/pass-delivery.ts';
import type { CompactionPorts } from '../workers/compaction/ports.ts';
import { recountContext } from '../workers/compaction/recount.ts';
import type { Refusal } from '../workers/compaction/settle-sendable.ts';
import type { TrialOutcome } from '../workers/compaction/trial-pass.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';
import { Shutdown } from '../workers/shutdown.ts';
import type { SummarizationPorts } from '../workers/summarization/ports.ts';
import { createSummarizationHandler } from '../workers/summarization/summarization-delivery.ts';
import { systemTimers } from '../workers/timers.ts';
import { EvaluatedConversation } from './evaluated-conversation.ts';

export type SummarizerChain = SummarizationPorts['summarizers'];

interface PassReport {
  ended?: Extract<WorkerEvent, { type: 'pass_ended' }>;
  settled?: SettledContext;
  refusal?: Refusal;
}

/** Runs compaction passes of one conversation with the handlers of the workers, over a memory store. */
export class EvaluatedPasses {
  readonly conversation: EvaluatedConversation;
  readonly #ports: SummarizationPorts & Omit<CompactionPorts, 'shadow'>;
  #ids = 0;

  constructor(prepared: PreparedAgent, summarizers: SummarizerChain) {
    this.conversation = new EvaluatedConversation(prepared.agent.name);
    const { store } = this.conversation;
    const agent = approveReviews(prepared);
    this.#ports = {
      passes: store,
      contexts: store,
      summaries: store,
      summarizers,
      // If a compaction pass is requested while another one ends, the next `run` delivers it.
      wakes: { wake: async () => undefined },
      agents: { find: () => agent },
      clock: { now: () => Date.now() },
      ids: { next: () => this.#nextId() },
      owners: { next: () => this.#nextId() },
      timers: systemTimers,
      onEvent: () => undefined,
      tracing: noTracing,
      shutdown: new Shutdown(),
    };
  }

  /** Requests one compaction pass and runs it to its end. Its summarization jobs run one after the other. */
  async run(requested: readonly Reason[]): Promise<TrialOutcome> {
    const { ref: conversation, store, state } = this.conversation;
    const report: PassReport = {};
    const deliver = createPassHandler({
      ...this.#ports,
      onEvent: (event) => collect(report, event),
      shadow: {
        measure: async ({ settled }) => {
          if (settled !== undefined) report.settled = settled;
        },
      },
    });
    const summarize = createSummarizationHandler(this.#ports);
    const job = this.#nextId();
    await store.requestPass({ conversation, reasons: requested, passId: this.#nextId(), wake: job });
    let delivered = await deliver({ conversation, job, haveChildrenEnded: false });
    while (delivered.status === 'parked') {
      for (const { child: _child, ...task } of delivered.children) {
        await summarize({ task, requestedAt: this.#ports.clock.now(), isLastAttempt: true });
      }
      delivered = await deliver({ conversation, job, haveChildrenEnded: true });
    }
    return await this.#conclude(report, requested, state);
  }

  async #conclude(
    { ended, settled, refusal }: PassReport,
    requested: readonly Reason[],
    before: ConversationState,
  ): Promise<TrialOutcome> {
    if (ended === undefined) throw new Error('the compaction pass did not reach its end. This is a bug in turnfold');
    const { outcome, reasons } = ended;
    switch (outcome) {
      case 'no_reason':
      case 'thinking':
      case 'none':
      case 'no_gain':
        return { kind: outcome, reasons };
      case 'infeasible':
        return { kind: outcome, details: await this.#explainInfeasible(requested, before), reasons };
      default:
        if (outcome === 'committed' && settled !== undefined) {
          await this.conversation.refresh();
          return { kind: 'version', settled, reasons };
        }
        if (refusal !== undefined) return { kind: 'refused', refusal, reasons };
        throw new Error(`the compaction pass ended as ${outcome}${ended.code === undefined ? '' : `: ${ended.code}`}`);
    }
  }

  /**
   * Computes the sizes of the parts that the compaction pass had to keep. Uses the conversation's state before the
   * pass, because the end of the pass has started a backoff.
   */
  async #explainInfeasible(reasons: readonly Reason[], before: ConversationState): Promise<BudgetInfeasible> {
    const { contexts, summaries, agents } = this.#ports;
    const { ref } = this.conversation;
    const asBefore = { ...contexts, readConversation: async () => before };
    const recount = await recountContext({ contexts: asBefore, summaries, agents }, ref, { reasons });
    if (recount.status !== 'too_large')
      throw new Error(
        'the compaction pass was infeasible, but a second computation finds that it fits. This is a bug in turnfold',
      );
    return recount.details;
  }

  #nextId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }
}

/** No person approves proposals during an evaluation, so a policy with reviews commits at once. */
function approveReviews(prepared: PreparedAgent): PreparedAgent {
  const { policy } = prepared;
  return policy.mode === 'review' ? { ...prepared, policy: { ...policy, mode: 'auto' } } : prepared;
}

function collect(report: PassReport, event: WorkerEvent): void {
  if (event.type === 'pass_ended') report.ended = event;
  if (event.type === 'version_refused') report.refusal = { codes: event.codes, message: event.message };
}
