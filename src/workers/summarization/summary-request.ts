import { nameConversation } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { SummarizationDelivery, SummarizationTask } from '../../domain/ports/queue.ts';
import type { SummaryRequest } from '../../domain/ports/summarizer.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { findAsked } from '../user-messages.ts';
import type { Standing } from './earlier.ts';
import type { SummarizationPorts } from './ports.ts';
import { copyUserTexts } from './user-texts.ts';

const DEFAULT_CAP_TOKENS = 2000;
const CAP_SHARE = 0.25;
/** Of the cap: the users' own words, the rest is for what was done about them. */
const USER_TEXTS_SHARE = 0.5;
/** The users' own words have as many whatever the cap is: what is not kept here is evicted without a summary. */
const MIN_USER_TEXTS_TOKENS = 64;
/** These they leave to the summary all the same. */
const MIN_SUMMARY_TOKENS = 16;
/** what every message counts besides its text */
const MESSAGE_TOKENS = 4;

export interface PreparedRequest {
  readonly status: 'prepared';
  readonly request: SummaryRequest;
  /** what code puts before the summary */
  readonly userTexts: string;
}

export interface RefusedSource {
  readonly status: 'refused';
  readonly why: string;
}

export interface RequestParts {
  readonly prepared: PreparedAgent;
  /** of the range, from the log */
  readonly entries: readonly LogEntry[];
  readonly standing: Standing;
}

/** What a summarizer is asked for one sequence; refused where no text could be smaller than it and keep a word of its users. */
export async function createRequest(
  { contexts, onEvent, shutdown }: SummarizationPorts,
  { task }: SummarizationDelivery,
  { prepared, entries, standing }: RequestParts,
): Promise<PreparedRequest | RefusedSource> {
  const { conversation, passId, sequence } = task;
  const { counter } = prepared;
  const [cap, room] = [summaryCap(prepared, entries), summaryRoom(prepared, sequence)];
  const share = Math.floor(Math.min(cap, room) * USER_TEXTS_SHARE);
  const least = Math.min(MIN_USER_TEXTS_TOKENS, room - MIN_SUMMARY_TOKENS);
  const userTexts = await copyUserTexts(counter, entries, Math.max(share, least));
  if (userTexts === undefined)
    return refuse(`${sequence.tokens} tokens are too few for a summary with a word of their users`);
  const userTokens = await counter.count(userTexts);
  // Where the users' words took more than their share, the summary keeps its own.
  const restTokens = Math.max(cap - userTokens, Math.ceil(cap * (1 - USER_TEXTS_SHARE)));
  const maxTokens = Math.min(restTokens, room - userTokens);
  if (maxTokens < 1) return refuse(`${sequence.tokens} tokens are too small to be summarized`);
  const asked = await findAsked(contexts, conversation, sequence.from);
  const { earlier, opensVersion } = standing;
  const request: SummaryRequest = {
    range: { from: sequence.from, to: sequence.to },
    messages: entries.map((entry) => entry.message),
    maxTokens,
    signal: shutdown.callsEnd,
    onCall: (call) =>
      onEvent({ type: 'model_called', purpose: 'summary', ...nameConversation(conversation), passId, ...call }),
    onPassedOver: (model, outcome) =>
      onEvent({
        type: 'model_passed_over',
        purpose: 'summary',
        ...nameConversation(conversation),
        passId,
        model,
        outcome,
      }),
    ...(asked === undefined ? {} : { asked }),
    ...(earlier === undefined ? {} : { earlier: earlier.summaries }),
    ...(opensVersion === undefined ? {} : { opensVersion }),
  };
  return { status: 'prepared', request, userTexts };
}

function refuse(why: string): RefusedSource {
  return { status: 'refused', why };
}

/** At most a quarter of what the log holds there. */
function summaryCap({ policy }: PreparedAgent, entries: readonly LogEntry[]): number {
  const sourceTokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
  const cap = typeof policy.summarizer === 'string' ? undefined : policy.summarizer.maxTokens;
  return Math.min(cap ?? DEFAULT_CAP_TOKENS, Math.floor(sourceTokens * CAP_SHARE));
}

/** Rendered always less than what it replaces. */
function summaryRoom({ counter }: PreparedAgent, sequence: SummarizationTask['sequence']): number {
  // Around a text: without one the frame's two line breaks would count as a single token.
  const frameTokens = counter.countSync(renderWidestSummary('x', sequence)) + MESSAGE_TOKENS;
  return sequence.tokens - frameTokens - 1;
}
