import { renderWidestCheckpoint } from '../../domain/checkpoint.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { SummarizationDelivery } from '../../domain/ports/handlers.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import type { SummaryRequest } from '../../domain/ports/summarizer.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { findAsked } from '../user-messages.ts';
import type { Standing } from './earlier.ts';
import type { SummarizationPorts } from './ports.ts';
import { copyUserTexts } from './user-texts.ts';

const DEFAULT_CAP_TOKENS = 2000;
const CAP_SHARE = 0.25;
/** Of the cap: the users' own words, the rest is for what was done about them. */
const USER_TEXTS_SHARE = 0.5;
/** what every message counts besides its text */
const MESSAGE_TOKENS = 4;

export interface PreparedRequest {
  readonly request: SummaryRequest;
  /** what code puts before the summary */
  readonly userTexts: string;
}

export interface RequestParts {
  readonly prepared: PreparedAgent;
  /** of the range, from the log */
  readonly entries: readonly LogEntry[];
  readonly standing: Standing;
}

/** What a summarizer is asked for one sequence; undefined where no text could be smaller than it and keep a word of its users. */
export async function createRequest(
  { contexts, onEvent }: SummarizationPorts,
  { task, signal }: SummarizationDelivery,
  { prepared, entries, standing }: RequestParts,
): Promise<PreparedRequest | undefined> {
  const { conversation, passId, sequence } = task;
  const cap = summaryCap(prepared, entries, task);
  const { counter } = prepared;
  const userTexts = await copyUserTexts(counter, entries, Math.floor(cap * USER_TEXTS_SHARE));
  if (userTexts === undefined) return undefined;
  const maxTokens = cap - (await counter.count(userTexts));
  if (maxTokens < 1) return undefined;
  const asked = await findAsked(contexts, conversation, sequence.from);
  const { earlier, opensVersion } = standing;
  const request: SummaryRequest = {
    range: { from: sequence.from, to: sequence.to },
    messages: entries.map((entry) => entry.message),
    maxTokens,
    signal,
    onCall: (call) => onEvent({ type: 'model_called', purpose: 'summary', conversation, passId, ...call }),
    onPassedOver: (model, outcome) =>
      onEvent({ type: 'model_passed_over', purpose: 'summary', conversation, passId, model, outcome }),
    ...(asked === undefined ? {} : { asked }),
    ...(earlier === undefined ? {} : { earlier: earlier.checkpoints }),
    ...(opensVersion === undefined ? {} : { opensVersion }),
  };
  return { request, userTexts };
}

/** At most a quarter of what the log holds there, and rendered always less than what it replaces. */
function summaryCap({ policy, counter }: PreparedAgent, entries: readonly LogEntry[], task: SummarizationTask): number {
  const { sequence } = task;
  const sourceTokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
  const cap = typeof policy.summarizer === 'string' ? undefined : policy.summarizer.maxTokens;
  // Around a text: without one the frame's two line breaks would count as a single token.
  const frameTokens = counter.countSync(renderWidestCheckpoint('x', sequence)) + MESSAGE_TOKENS;
  return Math.min(cap ?? DEFAULT_CAP_TOKENS, Math.floor(sourceTokens * CAP_SHARE), sequence.tokens - frameTokens - 1);
}
