import type { ConversationState } from '../../domain/conversation.ts';
import type { WorkerEvent } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummarizationDelivery, SummarizationHandler, SummarizationResult } from '../../domain/ports/queue.ts';
import type { SummaryLease, SummaryRecord } from '../../domain/ports/summary-store.ts';
import { summaryKey } from '../compaction/summary-key.ts';
import { holdWrite } from '../hold-write.ts';
import { StoppedWork, unlessAborted } from '../shutdown.ts';
import { isRolledBack, summaryPolicy } from '../summary-policy.ts';
import { postpone } from '../work-place.ts';
import { attendSummarizer, readSummarizerRetryAt } from './attended-summarizer.ts';
import type { SummarizationPorts } from './ports.ts';
import { type Summarized, summarizeSequence } from './summarize-sequence.ts';

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
  const { result, told } = await runTask(ports, delivery);
  if (result.status === 'ended') {
    const { conversation, passId, sequence } = delivery.task;
    ports.onEvent({
      type: 'summary_ended',
      ...nameConversation(conversation),
      passId,
      outcome: result.outcome,
      durationMs: ports.clock.now() - startedAt,
      sourceTokens: sequence.tokens,
      ...told,
    });
  }
  return result;
}

interface TaskEnd {
  readonly result: SummarizationResult;
  readonly told?: Acknowledged;
}

/** What the event tells of a chain that was tried. */
type Acknowledged = Pick<Extract<WorkerEvent, { readonly type: 'summary_ended' }>, 'tokens' | 'written' | 'why'>;

type EndedOutcome = Extract<SummarizationResult, { readonly status: 'ended' }>['outcome'];

function endedAs(outcome: EndedOutcome, told: Acknowledged = {}): TaskEnd {
  return { result: { status: 'ended', outcome }, told };
}

async function runTask(ports: SummarizationPorts, delivery: SummarizationDelivery): Promise<TaskEnd> {
  const { task } = delivery;
  if (ports.shutdown.begun.aborted) return { result: postpone(ports) };
  const state = await ports.contexts.readConversation(task.conversation);
  if (state?.passId !== task.passId || isOutdated(task, state)) return endedAs('superseded');
  const { conversation, passId, hash } = task;
  const lease = { conversation, passId, hash, owner: ports.ids.next() };
  const claim = await ports.summaries.claimSummary(conversation, hash, lease.owner);
  switch (claim.status) {
    case 'in_flight':
      return { result: { status: 'in_flight' } };
    case 'known':
      return endedAs(claim.record.status === 'accepted' ? 'known' : 'refused');
    case 'gone':
      return endedAs('superseded');
    case 'claimed':
      return await runClaimed(ports, delivery, state, lease);
  }
}

/** Asked for before a rollback. Since then code alone writes, and its text would be kept under the key of a model's. */
function isOutdated({ sequence, hash }: SummarizationDelivery['task'], state: ConversationState): boolean {
  return isRolledBack(state) && hash !== summaryKey(sequence, { summarizer: 'structural' });
}

async function runClaimed(
  ports: SummarizationPorts,
  delivery: SummarizationDelivery,
  state: ConversationState,
  lease: SummaryLease,
): Promise<TaskEnd> {
  const { conversation, passId, hash, owner } = lease;
  const held = holdRecords(ports, delivery);
  const heartbeat = ports.timers.every(PASS_LIMITS.heartbeatMs, async () => {
    await ports.summaries.heartbeatSummary(conversation, hash, owner);
  });
  try {
    const prepared = ports.agents.find(state.agent);
    const policy = prepared && summaryPolicy(prepared.policy, state);
    const setup = policy && { prepared: { ...prepared, policy }, state };
    const attended = attendChain(held, delivery, lease);
    const summarized =
      setup && (await unlessAborted(ports.shutdown.workEnds, () => summarizeSequence(attended, setup, delivery)));
    if (summarized?.record === undefined) {
      await ports.summaries.releaseSummary(conversation, hash, owner);
      return endedAs('failed', tellRefusals(summarized));
    }
    const recorded = await held.summaries.recordSummary(lease, summarized.record);
    return recorded === 'recorded' ? endWith(summarized.record, summarized) : endedAs('superseded');
  } catch (error) {
    await ports.summaries.releaseSummary(conversation, hash, owner);
    if (error instanceof StoppedWork) return { result: handBack(ports, lease) };
    const retryAt = readSummarizerRetryAt(error);
    if (retryAt !== undefined) return { result: { status: 'limited', retryAt } };
    if (!delivery.isLastAttempt) throw error;
    ports.onEvent({ type: 'worker_failed', where: 'summarization', ...nameConversation(conversation), passId, error });
    return endedAs('failed');
  } finally {
    heartbeat.stop();
  }
}

/** What was paid for is kept until Redis takes it, or the worker stops. The claim is renewed meanwhile, also on a full Redis. */
function holdRecords(ports: SummarizationPorts, { task }: SummarizationDelivery): SummarizationPorts {
  const { conversation, passId } = task;
  const signal = ports.shutdown.workEnds;
  const about = { write: 'summary', scope: { ...nameConversation(conversation), passId }, signal } as const;
  const { summaries } = ports;
  return {
    ...ports,
    summaries: {
      ...summaries,
      recordSummary: (lease, record) => holdWrite(ports, about, () => summaries.recordSummary(lease, record)),
      recordPart: (lease, key, text) => holdWrite(ports, about, () => summaries.recordPart(lease, key, text)),
    },
  };
}

function handBack(ports: SummarizationPorts, { conversation, passId }: SummaryLease): SummarizationResult {
  const isCutOff = ports.shutdown.callsEnd.aborted;
  if (isCutOff) ports.shutdown.noteCutOff();
  ports.onEvent({ type: 'lease_returned', what: 'summary', ...nameConversation(conversation), passId, isCutOff });
  return postpone(ports);
}

function attendChain(
  ports: SummarizationPorts,
  { askedAt }: SummarizationDelivery,
  lease: SummaryLease,
): SummarizationPorts {
  return {
    ...ports,
    summarizers: (policy, agent) =>
      ports.summarizers(policy, agent).map((summarizer) => attendSummarizer(ports, summarizer, { lease, askedAt })),
  };
}

function endWith(record: SummaryRecord, summarized: Summarized): TaskEnd {
  const refusals = tellRefusals(summarized);
  if (record.status === 'refused') return endedAs('refused', refusals);
  const written = { by: record.summary.model, isFallback: summarized.isFallback };
  return endedAs('written', { tokens: record.weight.tokens, written, ...refusals });
}

function tellRefusals(summarized: Summarized | undefined): Pick<Acknowledged, 'why'> {
  const { refusals = [] } = summarized ?? {};
  return refusals.length === 0 ? {} : { why: refusals.join('; ') };
}
