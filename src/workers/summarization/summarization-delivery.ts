import type { ConversationState } from '../../domain/conversation.ts';
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
  return async (delivery) => {
    const startedAt = ports.clock.now();
    const { task } = delivery;
    const result = await runTask(ports, delivery);
    if (result.status === 'ended') {
      const { conversation, passId, sequence } = task;
      ports.onEvent({
        type: 'summary_ended',
        conversation,
        passId,
        outcome: result.outcome,
        durationMs: ports.clock.now() - startedAt,
        sourceTokens: sequence.tokens,
        ...(result.tokens === undefined ? {} : { tokens: result.tokens }),
      });
    }
    return result;
  };
}

type TaskResult = SummarizationResult & { readonly tokens?: number };

async function runTask(ports: SummarizationPorts, delivery: SummarizationDelivery): Promise<TaskResult> {
  const { task } = delivery;
  const state = await ports.contexts.readConversation(task.conversation);
  if (state?.passId !== task.passId) return { status: 'ended', outcome: 'superseded' };
  const owner = ports.ids.next();
  const claim = await ports.summaries.claimSummary(task.conversation, task.hash, owner);
  switch (claim.status) {
    case 'in_flight':
      return { status: 'in_flight' };
    case 'known':
      return { status: 'ended', outcome: claim.record.status === 'accepted' ? 'known' : 'refused' };
    case 'gone':
      return { status: 'ended', outcome: 'superseded' };
    case 'claimed':
      return await runClaimed(ports, delivery, state, owner);
  }
}

async function runClaimed(
  ports: SummarizationPorts,
  delivery: SummarizationDelivery,
  state: ConversationState,
  owner: string,
): Promise<TaskResult> {
  const { conversation, hash } = delivery.task;
  const beat = ports.timers.every(PASS_LIMITS.beatMs, async () => {
    await ports.summaries.beatSummary(conversation, hash, owner);
  });
  try {
    const prepared = ports.agents.find(state.agent);
    const policy = prepared && summaryPolicy(prepared.policy, state);
    const setup = policy && { prepared: { ...prepared, policy }, state };
    const record = setup && (await summarizeSequence(attendChain(ports, delivery), setup, delivery));
    if (record === undefined) {
      await ports.summaries.releaseSummary(conversation, hash, owner);
      return { status: 'ended', outcome: 'failed' };
    }
    return await recordOutcome(ports, delivery.task, record);
  } catch (error) {
    await ports.summaries.releaseSummary(conversation, hash, owner);
    const retryAt = readRetryAt(error);
    if (retryAt !== undefined) return { status: 'limited', retryAt };
    if (!delivery.isLastAttempt) throw error;
    ports.onEvent({ type: 'worker_failed', where: 'summarization', conversation, passId: delivery.task.passId, error });
    return { status: 'ended', outcome: 'failed' };
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

async function recordOutcome(
  ports: SummarizationPorts,
  task: SummarizationTask,
  record: SummaryRecord,
): Promise<TaskResult> {
  const recorded = await ports.summaries.recordSummary(task.conversation, task.hash, record);
  if (recorded === 'gone') return { status: 'ended', outcome: 'superseded' };
  return record.status === 'accepted'
    ? { status: 'ended', outcome: 'written', tokens: record.weight.tokens }
    : { status: 'ended', outcome: 'refused' };
}
