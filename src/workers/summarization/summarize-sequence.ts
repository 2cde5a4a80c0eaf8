import type { ConversationState } from '../../domain/conversation.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { SummarizationDelivery } from '../../domain/ports/queue.ts';
import type { Summarizer, SummaryAnswer } from '../../domain/ports/summarizer.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { StoppedWork } from '../shutdown.ts';
import { acceptSummary } from './accept-summary.ts';
import { type Earlier, findStanding } from './earlier.ts';
import type { SummarizationPorts } from './ports.ts';
import { createRequest, type PreparedRequest } from './summary-request.ts';

export interface SequenceSetup {
  readonly prepared: PreparedAgent;
  readonly state: ConversationState;
}

/** What a chain made of a sequence. */
export interface Summarized {
  /** undefined: no text was accepted, and one of the chain failed; a later pass may have better luck */
  readonly record: SummaryRecord | undefined;
  /** another was asked before the one that wrote it */
  readonly isFallback: boolean;
  /** who did not write it, and why; failures aside */
  readonly refusals: readonly string[];
}

/**
 * Summarizes one sequence from the log, masks and cuts of the context aside; an earlier summary in it may be updated. Tries
 * the chain until one text is accepted.
 * @throws what a summarizer threw while attempts remain; StoppedWork, when the worker stops
 */
export async function summarizeSequence(
  ports: SummarizationPorts,
  { prepared, state }: SequenceSetup,
  delivery: SummarizationDelivery,
): Promise<Summarized> {
  const { task } = delivery;
  const entries = await ports.contexts.readLog(task.conversation, [task.sequence]);
  const { agent, policy } = prepared;
  const standing = await findStanding(ports.contexts, task, { policy, state });
  const asking = await createRequest(ports, delivery, { prepared, entries, standing });
  if (asking.status === 'refused') return refuse([asking.why]);
  const refusals: string[] = [];
  let [isFallback, hasFailed] = [false, false];
  for (const summarizer of ports.summarizers(policy, agent.name)) {
    if (ports.shutdown.begun.aborted) throw new StoppedWork();
    const result = await trySummarizer({ ports, prepared, delivery, summarizer, asking, earlier: standing.earlier });
    if (result?.status === 'accepted') return { record: result, isFallback, refusals };
    if (result === undefined) hasFailed = true;
    else refusals.push(`${summarizer.id}: ${result.why}`);
    if (result?.status !== 'unfit') isFallback = true;
  }
  return hasFailed ? { record: undefined, isFallback, refusals } : refuse(refusals);
}

function refuse(refusals: readonly string[]): Summarized {
  return { record: { status: 'refused', why: refusals.join('; ') }, isFallback: false, refusals };
}

interface Try {
  readonly ports: SummarizationPorts;
  readonly prepared: PreparedAgent;
  readonly delivery: SummarizationDelivery;
  readonly summarizer: Summarizer;
  readonly asking: PreparedRequest;
  readonly earlier: Earlier | undefined;
}

/** Undefined: it failed, and waiting for it would not help or is over. */
async function trySummarizer(
  one: Try,
): Promise<SummaryRecord | Extract<SummaryAnswer, { status: 'unfit' }> | undefined> {
  const { prepared, delivery, summarizer, asking } = one;
  const { request, userTexts } = asking;
  const answer = await askSummarizer(one);
  if (answer?.status !== 'written') return answer;
  const isUpdate = answer.isUpdate === true && one.earlier !== undefined;
  // A model may overrun what it was asked for.
  const text = await prepared.counter.clipStart(answer.text, request.maxTokens);
  const summary = {
    // Users' texts alone are no summary.
    text: text.trim() === '' ? '' : userTexts + text,
    covers: request.range,
    sources: isUpdate ? [...one.earlier.keys] : [],
    depth: isUpdate ? one.earlier.depth : 1,
    model: summarizer.id,
  };
  return await acceptSummary(prepared, delivery.task, summary, answer.own);
}

async function askSummarizer({
  ports,
  delivery,
  summarizer,
  asking: { request },
}: Try): Promise<Exclude<SummaryAnswer, { status: 'failed' }> | undefined> {
  const { conversation, passId } = delivery.task;
  const where = `summarizer ${summarizer.id}`;
  try {
    const answer = await summarizer.summarize(request);
    if (answer.status !== 'failed') return answer;
    ports.onEvent({
      type: 'worker_failed',
      where,
      ...nameConversation(conversation),
      passId,
      error: new Error(answer.why),
    });
  } catch (error) {
    if (ports.shutdown.callsEnd.aborted) throw new StoppedWork();
    if (!delivery.isLastAttempt) throw error;
    ports.onEvent({ type: 'worker_failed', where, ...nameConversation(conversation), passId, error });
  }
  return undefined;
}
