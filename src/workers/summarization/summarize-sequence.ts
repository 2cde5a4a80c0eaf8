import { breakBefore } from '../../compaction/evidence/word-breaks.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { Weight } from '../../domain/message.ts';
import { isModelError } from '../../domain/model.ts';
import type { Summarizer, SummaryAnswer } from '../../domain/summarizer.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import type { Summary } from '../../domain/version.ts';
import type { SummarizationDelivery, SummarizationTask } from '../../jobs/ports.ts';
import type { PaidRecord, SummaryLease, SummaryRecord } from '../../store/summaries.ts';
import { summaryWaitMs } from '../compaction/sequence-summaries.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { StoppedWork } from '../shutdown.ts';
import type { SummarizationPorts } from '../worker-ports.ts';
import { createRequest, type EarlierSummaries, findPlace, type PreparedRequest } from './summary-request.ts';

interface ClaimedSequence {
  readonly delivery: SummarizationDelivery;
  readonly lease: SummaryLease;
  readonly prepared: PreparedAgent;
  readonly state: ConversationState;
}

export interface ChainResult {
  /** The accepted summary, or why all were refused. Undefined if a summarizer failed: a later pass may try again. */
  readonly record?: PaidRecord;
  /** True if an earlier summarizer of the chain was asked without success. */
  readonly isFallback: boolean;
  readonly refusals: readonly string[];
}

/**
 * Asks the summarizers of the chain in order, until one text is accepted.
 * @throws the error of a summarizer while the job has attempts left. StoppedWork if the worker stops.
 */
export async function summarizeSequence(
  ports: SummarizationPorts,
  { delivery, lease, prepared, state }: ClaimedSequence,
): Promise<ChainResult> {
  const { task } = delivery;
  const entries = await ports.contexts.readLog(task.conversation, [task.sequence]);
  const { agent, policy } = prepared;
  const place = await findPlace(ports.contexts, task, { policy, state });
  const prompt = await createRequest(ports, delivery, { lease, prepared, entries, place, head: state.head });
  if (prompt.status === 'refused') return refuse([prompt.why]);
  const refusals: string[] = [];
  let [isFallback, hasFailed] = [false, false];
  for (const summarizer of ports.summarizers(policy, agent.name)) {
    if (ports.shutdown.begun.aborted) throw new StoppedWork();
    const result = await trySummarizer({ ports, prepared, delivery, summarizer, prompt, earlier: place.earlier });
    if (result.status === 'accepted') return { record: addUsage(result, prompt), isFallback, refusals };
    if (result.status === 'failed') hasFailed = true;
    else refusals.push(`${summarizer.id}: ${result.why}`);
    if (result.status !== 'unfit') isFallback = true;
  }
  if (hasFailed) return { isFallback, refusals };
  return refuse(refusals, prompt);
}

function addUsage(record: SummaryRecord, { usage }: PreparedRequest): PaidRecord {
  const paid = { ...record, usage: usage.takeUnstored() };
  if (paid.status === 'refused' || usage.total.inputTokens + usage.total.outputTokens === 0) return paid;
  // The text keeps its usage, so that a version can state what the text cost.
  return { ...paid, summary: { ...paid.summary, usage: { cachedTokens: 0, costMicros: 0, ...usage.total } } };
}

function refuse(refusals: readonly string[], prompt?: PreparedRequest): ChainResult {
  const record = { status: 'refused', why: refusals.join('; ') } as const;
  return { record: prompt === undefined ? record : addUsage(record, prompt), isFallback: false, refusals };
}

interface ChainAttempt {
  readonly ports: SummarizationPorts;
  readonly prepared: PreparedAgent;
  readonly delivery: SummarizationDelivery;
  readonly summarizer: Summarizer;
  readonly prompt: PreparedRequest;
  readonly earlier: EarlierSummaries | undefined;
}

/** Asks one summarizer. `failed` means that another attempt would not help, or that this was the last one. */
async function trySummarizer(
  attempt: ChainAttempt,
): Promise<SummaryRecord | Extract<SummaryAnswer, { status: 'unfit' | 'failed' }>> {
  const { prepared, delivery, summarizer, prompt } = attempt;
  const { request, userTexts } = prompt;
  const answer = await askSummarizer(attempt);
  if (answer.status !== 'written') return answer;
  const isUpdate = answer.isUpdate === true && attempt.earlier !== undefined;
  // A model may ignore the token limit in its request, so the text is clipped.
  const fitting = await prepared.counter.clipStart(answer.text, request.maxTokens);
  const text = answer.text.slice(0, breakBefore(answer.text, fitting.length));
  const summary = {
    // A text that contains only copied user messages is no summary.
    text: text.trim() === '' ? '' : userTexts + text,
    covers: request.range,
    sources: isUpdate ? [...attempt.earlier.keys] : [],
    depth: isUpdate ? attempt.earlier.depth : 1,
    model: summarizer.id,
  };
  return await acceptSummary(prepared, delivery.task, summary, answer.own);
}

/** Share of a pass's waiting time for which a summary may wait for a rate limit. The rest is for the call. */
const WAIT_SHARE = 0.5;

/** Calls one summarizer. A rate limit that ends too late for the pass counts as a failure. */
async function askSummarizer({
  ports,
  prepared,
  delivery,
  summarizer,
  prompt: { request },
}: ChainAttempt): Promise<SummaryAnswer> {
  const { task, requestedAt, isLastAttempt } = delivery;
  const { conversation, passId, sequence } = task;
  const failed = {
    type: 'worker_failed',
    where: `summarizer ${summarizer.id}`,
    ...nameConversation(conversation),
  } as const;
  try {
    const answer = await summarizer.summarize(request);
    if (answer.status === 'failed') ports.onEvent({ ...failed, passId, error: new Error(answer.why) });
    return answer;
  } catch (error) {
    if (ports.shutdown.callsEnd.aborted) throw new StoppedWork();
    const retryAt = isModelError(error, 'retry') ? (error.retryAt ?? 0) : 0;
    if (retryAt > requestedAt + WAIT_SHARE * summaryWaitMs(sequence, prepared.policy)) {
      const why = "the provider's rate limit ends too late for the compaction pass that waits";
      ports.onEvent({ ...failed, passId, error: new Error(why) });
      return { status: 'failed', why };
    }
    if (!isLastAttempt) throw error;
    ports.onEvent({ ...failed, passId, error });
    return { status: 'failed', why: 'the last attempt of the summarization job failed' };
  }
}

/** Accepts or refuses a text. The text must have fewer tokens than its source, in each form in which it may be sent. */
async function acceptSummary(
  prepared: Pick<PreparedAgent, 'weigh'>,
  { sequence }: SummarizationTask,
  summary: Summary,
  own: OwnItems,
): Promise<SummaryRecord> {
  if (summary.text.trim() === '') return { status: 'refused', why: 'the summary is empty' };
  const weight = await weighSummary(prepared, summary, own);
  if (weight.tokens >= sequence.tokens)
    return {
      status: 'refused',
      why: `the summary has ${weight.tokens} tokens, but must have fewer than the ${sequence.tokens} of the messages that it replaces`,
    };
  return { status: 'accepted', summary: own === undefined ? summary : { ...summary, raw: own.raw }, weight };
}

/** The provider's opaque items, stored beside the text. */
type OwnItems = Extract<SummaryAnswer, { status: 'written' }>['own'];

/** Counts the larger of the two forms of a summary: as text, or as the opaque items of its own provider. */
async function weighSummary(
  { weigh }: Pick<PreparedAgent, 'weigh'>,
  { text, covers }: Summary,
  own: OwnItems,
): Promise<Weight> {
  const { tokens, bytes } = await weigh({ role: 'summary', content: renderWidestSummary(text, covers) });
  if (own === undefined) return { tokens, bytes };
  return {
    tokens: Math.max(tokens, own.tokens),
    bytes: Math.max(bytes, Buffer.byteLength(JSON.stringify(own.raw.items))),
  };
}
