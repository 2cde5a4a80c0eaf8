/**
 * A summarization job, from its delivery to its end. Each job summarizes one sequence of messages for one pass.
 *
 * ```
 * runTask                claims the sequence by its content: two jobs with the same content pay once
 *   summarizeSequence    asks a chain of summarizers until one text is accepted             summarize-sequence.ts
 *     createRequest      messages, copied user texts, limits, parts of earlier attempts     summary-request.ts
 *   recordSummary        stores the summary or its refusal, with the usage of its calls
 * ```
 *
 * A summary that is missing never fails its pass, so a job ends as `failed` instead of throwing on its last attempt.
 * A rate limit and a stopping worker cost no attempt.
 */
import type { ConversationState } from '../../domain/conversation.ts';
import type { WorkerEvent } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { isModelError } from '../../domain/model.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummarizationDelivery, SummarizationHandler, SummarizationResult } from '../../jobs/ports.ts';
import type { SummaryLease, SummaryRecord, SummaryRecorded } from '../../store/summaries.ts';
import { delayIfUnserved } from '../agents-elsewhere.ts';
import { isRolledBack, sequenceKey, summaryPolicy } from '../compaction/sequence-summaries.ts';
import { deferWrite } from '../deferred-write.ts';
import { StoppedWork, unlessAborted } from '../shutdown.ts';
import { postpone } from '../solo-lock.ts';
import type { SummarizationPorts } from '../worker-ports.ts';
import { type ChainResult, summarizeSequence } from './summarize-sequence.ts';

export function createSummarizationHandler(ports: SummarizationPorts): SummarizationHandler {
  return (delivery) => {
    const { conversation, passId, sequence, traceParent } = delivery.task;
    const about = { kind: 'summary', conversation, passId, sourceTokens: sequence.tokens, traceParent } as const;
    return ports.tracing.inSpan(about, () => answerTask(ports, delivery));
  };
}

async function answerTask(ports: SummarizationPorts, delivery: SummarizationDelivery): Promise<SummarizationResult> {
  const startedAt = ports.clock.now();
  const { result, report } = await runTask(ports, delivery);
  if (result.status === 'ended') {
    const { conversation, passId, sequence } = delivery.task;
    ports.onEvent({
      type: 'summary_ended',
      ...nameConversation(conversation),
      passId,
      outcome: result.outcome,
      durationMs: ports.clock.now() - startedAt,
      sourceTokens: sequence.tokens,
      ...report,
    });
  }
  return result;
}

interface TaskEnd {
  readonly result: SummarizationResult;
  readonly report?: ChainReport;
}

type ChainReport = Pick<Extract<WorkerEvent, { readonly type: 'summary_ended' }>, 'tokens' | 'written' | 'why'>;

type EndedOutcome = Extract<SummarizationResult, { readonly status: 'ended' }>['outcome'];

function endedAs(outcome: EndedOutcome, report: ChainReport = {}): TaskEnd {
  return { result: { status: 'ended', outcome }, report };
}

async function runTask(ports: SummarizationPorts, delivery: SummarizationDelivery): Promise<TaskEnd> {
  const { task } = delivery;
  if (ports.shutdown.begun.aborted) return { result: postpone(ports) };
  const state = await ports.contexts.readConversation(task.conversation);
  if (state?.passId !== task.passId || isOutdated(task, state)) return endedAs('superseded');
  const delayMs = await delayIfUnserved(ports, state.agent, 'summarization');
  if (delayMs !== undefined) return { result: { status: 'postponed', delayMs } };
  const { conversation, passId, hash } = task;
  const lease = { conversation, passId, hash, owner: ports.owners.next() };
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

/** True for a job that was added before a provider refused a version. Since then, no model summarizes. */
function isOutdated({ sequence, hash }: SummarizationDelivery['task'], state: ConversationState): boolean {
  return isRolledBack(state) && hash !== sequenceKey(sequence, { summarizer: 'structural' });
}

const SUPERSEDED: ReadonlySet<SummaryRecorded> = new Set(['superseded', 'gone']);

async function runClaimed(
  ports: SummarizationPorts,
  delivery: SummarizationDelivery,
  state: ConversationState,
  lease: SummaryLease,
): Promise<TaskEnd> {
  const { conversation, passId, hash, owner } = lease;
  const holding = holdRecords(ports, delivery);
  const heartbeat = ports.timers.every(PASS_LIMITS.heartbeatMs, async () => {
    await ports.summaries.heartbeatSummary(conversation, hash, owner);
  });
  try {
    const prepared = ports.agents.find(state.agent);
    const policy = prepared && summaryPolicy(prepared.policy, state);
    const summarizing = policy && { delivery, lease, prepared: { ...prepared, policy }, state };
    const summarized =
      summarizing && (await unlessAborted(ports.shutdown.workEnds, () => summarizeSequence(holding, summarizing)));
    if (summarized?.record === undefined) {
      await ports.summaries.releaseSummary(conversation, hash, owner);
      return endedAs('failed', reportRefusals(summarized));
    }
    const recorded = await holding.summaries.recordSummary(lease, summarized.record);
    return SUPERSEDED.has(recorded) ? endedAs('superseded') : endWith(summarized.record, summarized);
  } catch (error) {
    await ports.summaries.releaseSummary(conversation, hash, owner);
    if (error instanceof StoppedWork) return { result: handSummaryBack(ports, lease) };
    if (isModelError(error, 'retry') && error.retryAt !== undefined)
      return { result: { status: 'limited', retryAt: error.retryAt } };
    if (!delivery.isLastAttempt) throw error;
    ports.onEvent({ type: 'worker_failed', where: 'summarization', ...nameConversation(conversation), passId, error });
    return endedAs('failed');
  } finally {
    heartbeat.stop();
  }
}

/** Repeats writes of paid texts until Redis accepts them or the worker stops (I11). */
function holdRecords(ports: SummarizationPorts, { task }: SummarizationDelivery): SummarizationPorts {
  const { conversation, passId } = task;
  const signal = ports.shutdown.workEnds;
  const about = { write: 'summary', scope: { ...nameConversation(conversation), passId }, signal } as const;
  const { summaries } = ports;
  return {
    ...ports,
    summaries: {
      ...summaries,
      recordSummary: (lease, record) => deferWrite(ports, about, () => summaries.recordSummary(lease, record)),
      recordPart: (...part) => deferWrite(ports, about, () => summaries.recordPart(...part)),
    },
  };
}

function handSummaryBack(ports: SummarizationPorts, { conversation, passId }: SummaryLease): SummarizationResult {
  const isCutOff = ports.shutdown.callsEnd.aborted;
  if (isCutOff) ports.shutdown.noteCutOff();
  ports.onEvent({ type: 'lease_returned', what: 'summary', ...nameConversation(conversation), passId, isCutOff });
  return postpone(ports);
}

function endWith(record: SummaryRecord, summarized: ChainResult): TaskEnd {
  const refusals = reportRefusals(summarized);
  if (record.status === 'refused') return endedAs('refused', refusals);
  const written = { by: record.summary.model, isFallback: summarized.isFallback };
  return endedAs('written', { tokens: record.weight.tokens, written, ...refusals });
}

function reportRefusals(summarized: ChainResult | undefined): Pick<ChainReport, 'why'> {
  const { refusals = [] } = summarized ?? {};
  return refusals.length === 0 ? {} : { why: refusals.join('; ') };
}
