import { renderWidestCheckpoint } from '../../domain/checkpoint.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { SummarizationDelivery } from '../../domain/ports/handlers.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import type { Summarizer, SummaryAnswer, SummaryRequest } from '../../domain/ports/summarizer.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import type { Checkpoint } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { findAsked } from '../user-messages.ts';
import { type Earlier, findEarlier } from './earlier.ts';
import type { SummarizationPorts } from './ports.ts';

const DEFAULT_CAP_TOKENS = 2000;
const CAP_SHARE = 0.25;
/** what every message counts besides its text */
const MESSAGE_TOKENS = 4;

export interface SequenceSetup {
  readonly prepared: PreparedAgent;
  readonly state: ConversationState;
}

/**
 * Summarizes one sequence from the log, masks and cuts of the context aside; an earlier checkpoint in it may be updated. Tries
 * the chain until one text is accepted. Undefined: none was, and one of the chain failed; a later pass may have better luck.
 * @throws what a summarizer threw while attempts remain
 */
export async function summarizeSequence(
  ports: SummarizationPorts,
  { prepared, state }: SequenceSetup,
  delivery: SummarizationDelivery,
): Promise<SummaryRecord | undefined> {
  const { task } = delivery;
  const entries = await ports.contexts.readLog(task.conversation, [task.sequence]);
  const maxTokens = summaryCap(prepared, entries, task);
  if (maxTokens < 1) return { status: 'refused', why: `${task.sequence.tokens} tokens are too small to be summarized` };
  const earlier = await findEarlier(ports.contexts, task, { policy: prepared.policy, state });
  const request = await createRequest(ports, delivery, { entries, maxTokens, earlier });
  const refusals: string[] = [];
  let hasFailed = false;
  for (const summarizer of ports.summarizers(prepared.policy)) {
    const record = await trySummarizer({ ports, prepared, delivery, summarizer, request, earlier });
    if (record?.status === 'accepted') return record;
    if (record === undefined) hasFailed = true;
    else refusals.push(`${summarizer.id}: ${record.why}`);
  }
  return hasFailed ? undefined : { status: 'refused', why: refusals.join('; ') };
}

interface RequestParts {
  readonly entries: readonly LogEntry[];
  readonly maxTokens: number;
  readonly earlier: Earlier | undefined;
}

async function createRequest(
  { contexts, onEvent }: SummarizationPorts,
  { task, signal }: SummarizationDelivery,
  { entries, maxTokens, earlier }: RequestParts,
): Promise<SummaryRequest> {
  const { conversation, passId, sequence } = task;
  const asked = await findAsked(contexts, conversation, sequence.from);
  return {
    range: { from: sequence.from, to: sequence.to },
    messages: entries.map((entry) => entry.message),
    maxTokens,
    signal,
    onCall: (call) => onEvent({ type: 'model_called', purpose: 'summary', conversation, passId, ...call }),
    ...(asked === undefined ? {} : { asked }),
    ...(earlier === undefined ? {} : { earlier: earlier.checkpoints }),
  };
}

/** At most a quarter of what the log holds there, and rendered always less than what it replaces. */
function summaryCap({ policy, counter }: PreparedAgent, entries: readonly LogEntry[], task: SummarizationTask): number {
  const { sequence } = task;
  const sourceTokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
  const cap = policy.summarizer === 'structural' ? undefined : policy.summarizer.maxTokens;
  // Around a text: without one the frame's two line breaks would count as a single token.
  const frameTokens = counter.countSync(renderWidestCheckpoint('x', sequence)) + MESSAGE_TOKENS;
  return Math.min(cap ?? DEFAULT_CAP_TOKENS, Math.floor(sourceTokens * CAP_SHARE), sequence.tokens - frameTokens - 1);
}

interface Try {
  readonly ports: SummarizationPorts;
  readonly prepared: PreparedAgent;
  readonly delivery: SummarizationDelivery;
  readonly summarizer: Summarizer;
  readonly request: SummaryRequest;
  readonly earlier: Earlier | undefined;
}

/** Undefined: it failed, and waiting for it would not help or is over. */
async function trySummarizer(one: Try): Promise<SummaryRecord | undefined> {
  const { prepared, delivery, summarizer, request } = one;
  const answer = await askSummarizer(one);
  if (answer === undefined || answer.status === 'refused') return answer;
  const isUpdate = answer.isUpdate === true && one.earlier !== undefined;
  return await acceptSummary(prepared, delivery.task, {
    // A model may overrun what it was asked for.
    text: await prepared.counter.clipStart(answer.text, request.maxTokens),
    covers: request.range,
    sources: isUpdate ? [...one.earlier.keys] : [],
    depth: isUpdate ? one.earlier.depth : 1,
    model: summarizer.id,
  });
}

async function askSummarizer({
  ports,
  delivery,
  summarizer,
  request,
}: Try): Promise<Exclude<SummaryAnswer, { status: 'failed' }> | undefined> {
  const { conversation, passId } = delivery.task;
  const where = `summarizer ${summarizer.id}`;
  try {
    const answer = await summarizer.summarize(request);
    if (answer.status !== 'failed') return answer;
    ports.onEvent({ type: 'worker_failed', where, conversation, passId, error: new Error(answer.why) });
  } catch (error) {
    if (!delivery.isLastAttempt) throw error;
    ports.onEvent({ type: 'worker_failed', where, conversation, passId, error });
  }
  return undefined;
}

/** Accepted only if it says something and is strictly smaller, as rendered, than what it replaces. */
async function acceptSummary(
  prepared: PreparedAgent,
  task: SummarizationTask,
  checkpoint: Checkpoint,
): Promise<SummaryRecord> {
  if (checkpoint.text.trim() === '') return { status: 'refused', why: 'empty' };
  const content = renderWidestCheckpoint(checkpoint.text, checkpoint.covers);
  const { tokens, bytes } = await prepared.weigh({ role: 'checkpoint', content });
  if (tokens >= task.sequence.tokens)
    return { status: 'refused', why: `${tokens} tokens, not smaller than ${task.sequence.tokens}` };
  return { status: 'accepted', checkpoint, weight: { tokens, bytes } };
}
