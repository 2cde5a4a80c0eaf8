import type { ConversationState } from '../../domain/conversation.ts';
import type { WorkerEvent } from '../../domain/events.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummarizationDelivery, SummarizationHandler, SummarizationResult } from '../../domain/ports/handlers.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import { summaryPolicy } from '../summary-policy.ts';
import { attendSummarizer, readRetryAt } from './attended-summarizer.ts';
import type { SummarizationPorts } from './ports.ts';
import { summarizeSequence } from './summarize-sequence.ts';

/**
 * Handles summarization jobs: one sequence each. What must not be paid for twice is claimed by its content, so the same
 * source asked for by two jobs is summarized once.
 */
export function createSummarizationHandler(ports: SummarizationPorts): SummarizationHandler {
  return (delivery) => {
    const { conversation, passId, sequence, askedIn } = delivery.task;
    const about = { kind: 'summary', conversation, passId, sourceTokens: sequence.tokens, askedIn } as const;
    return ports.tracing.inSpan(about, () => answerTask(ports, delivery));
  };
}

async function answerTask(ports: SummarizationPorts, delivery: SummarizationDelivery): Promise<SummarizationResult> {
  const startedAt = ports.clock.now();
  const { result, written } = await runTask(ports, delivery);
  if (result.status === 'ended') {
    const { conversation, passId, sequence } = delivery.task;
    ports.onEvent({
      type: 'summary_ended',
      conversation,
      passId,
      outcome: result.outcome,
      durationMs: ports.clock.now() - startedAt,
      sourceTokens: sequence.tokens,
      ...written,
    });
  }
  return result;
}

interface TaskEnd {
  readonly result: SummarizationResult;
  /** what the event tells of a summary that was written */
  readonly written?: Pick<Extract<WorkerEvent, { readonly type: 'summary_ended' }>, 'tokens' | 'written'>;
}

type EndedOutcome = Extract<SummarizationResult, { readonly status: 'ended' }>['outcome'];

function endedAs(outcome: EndedOutcome): TaskEnd {
  return { result: { status: 'ended', outcome } };
}

async function runTask(ports: SummarizationPorts, delivery: SummarizationDelivery): Promise<TaskEnd> {
  const { task } = delivery;
  const state = await ports.contexts.readConversation(task.conversation);
  if (state?.passId !== task.passId) return endedAs('superseded');
  const owner = ports.ids.next();
  const claim = await ports.summaries.claimSummary(task.conversation, task.hash, owner);
  switch (claim.status) {
    case 'in_flight':
      return { result: { status: 'in_flight' } };
    case 'known':
      return endedAs(claim.record.status === 'accepted' ? 'known' : 'refused');
    case 'gone':
      return endedAs('superseded');
    case 'claimed':
      return await runClaimed(ports, delivery, state, owner);
  }
}

async function runClaimed(
  ports: SummarizationPorts,
  delivery: SummarizationDelivery,
  state: ConversationState,
  owner: string,
): Promise<TaskEnd> {
  const { conversation, hash } = delivery.task;
  const beat = ports.timers.every(PASS_LIMITS.beatMs, async () => {
    await ports.summaries.beatSummary(conversation, hash, owner);
  });
  try {
    const prepared = ports.agents.find(state.agent);
    const policy = prepared && summaryPolicy(prepared.policy, state);
    const setup = policy && { prepared: { ...prepared, policy }, state };
    const first = policy && ports.summarizers(policy, prepared.agent.name)[0]?.id;
    const record = setup && (await summarizeSequence(attendChain(ports, delivery), setup, delivery));
    if (record === undefined) {
      await ports.summaries.releaseSummary(conversation, hash, owner);
      return endedAs('failed');
    }
    return await recordOutcome(ports, delivery.task, record, first);
  } catch (error) {
    await ports.summaries.releaseSummary(conversation, hash, owner);
    const retryAt = readRetryAt(error);
    if (retryAt !== undefined) return { result: { status: 'limited', retryAt } };
    if (!delivery.isLastAttempt) throw error;
    ports.onEvent({ type: 'worker_failed', where: 'summarization', conversation, passId: delivery.task.passId, error });
    return endedAs('failed');
  } finally {
    beat.stop();
  }
}

function attendChain(ports: SummarizationPorts, delivery: SummarizationDelivery): SummarizationPorts {
  return {
    ...ports,
    summarizers: (policy, agent) =>
      ports.summarizers(policy, agent).map((summarizer) => attendSummarizer(ports, summarizer, delivery)),
  };
}

/** @param first id of the summarizer that the policy asks before all others */
async function recordOutcome(
  ports: SummarizationPorts,
  task: SummarizationTask,
  record: SummaryRecord,
  first: string | undefined,
): Promise<TaskEnd> {
  const recorded = await ports.summaries.recordSummary(task.conversation, task.hash, record);
  if (recorded === 'gone') return endedAs('superseded');
  if (record.status === 'refused') return endedAs('refused');
  const { model } = record.checkpoint;
  const written = { by: model, isFallback: model !== first };
  return { ...endedAs('written'), written: { tokens: record.weight.tokens, written } };
}
