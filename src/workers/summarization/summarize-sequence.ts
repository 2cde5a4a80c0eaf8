import { renderWidestCheckpoint } from '../../domain/checkpoint.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { SummarizationDelivery } from '../../domain/ports/handlers.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import type { Summarizer, SummaryRequest } from '../../domain/ports/summarizer.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import type { Checkpoint } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { findAsked } from '../user-messages.ts';
import type { SummarizationPorts } from './ports.ts';

const DEFAULT_CAP_TOKENS = 2000;
const CAP_SHARE = 0.25;
/** what every message counts besides its text */
const MESSAGE_TOKENS = 4;

/**
 * Summarizes one sequence from the log, whatever stands for it in the context: a summary is never made from a summary, so
 * nothing is lost twice. Tries the chain until one text is accepted. Undefined: none was, and one of the chain failed; a
 * later pass may have better luck.
 * @throws what a summarizer threw while attempts remain
 */
export async function summarizeSequence(
  ports: SummarizationPorts,
  prepared: PreparedAgent,
  delivery: SummarizationDelivery,
): Promise<SummaryRecord | undefined> {
  const { task } = delivery;
  const entries = await ports.contexts.readLog(task.conversation, [task.sequence]);
  const maxTokens = summaryCap(prepared, entries, task);
  if (maxTokens < 1) return { status: 'refused', why: `${task.sequence.tokens} tokens are too small to be summarized` };
  const asked = await findAsked(ports.contexts, task.conversation, task.sequence.from);
  const request: SummaryRequest = {
    range: { from: task.sequence.from, to: task.sequence.to },
    messages: entries.map((entry) => entry.message),
    maxTokens,
    signal: delivery.signal,
    ...(asked === undefined ? {} : { asked }),
  };
  const refusals: string[] = [];
  let hasFailed = false;
  for (const summarizer of ports.summarizers(prepared.policy)) {
    const record = await trySummarizer({ ports, prepared, delivery, summarizer, request });
    if (record?.status === 'accepted') return record;
    if (record === undefined) hasFailed = true;
    else refusals.push(`${summarizer.id}: ${record.why}`);
  }
  return hasFailed ? undefined : { status: 'refused', why: refusals.join('; ') };
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
}

/** Undefined: it failed on the last attempt. */
async function trySummarizer(one: Try): Promise<SummaryRecord | undefined> {
  const { ports, prepared, delivery, summarizer, request } = one;
  const { task } = delivery;
  try {
    const answer = await summarizer.summarize(request);
    if (answer.status === 'refused') return answer;
    return await acceptSummary(prepared, task, {
      // A model may overrun what it was asked for.
      text: await prepared.counter.clipStart(answer.text, request.maxTokens),
      covers: request.range,
      sources: [],
      depth: 1,
      model: summarizer.id,
    });
  } catch (error) {
    if (!delivery.isLastAttempt) throw error;
    const { conversation, passId } = task;
    ports.onEvent({ type: 'worker_failed', where: `summarizer ${summarizer.id}`, conversation, passId, error });
    return undefined;
  }
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
