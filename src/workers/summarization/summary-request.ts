import type { ConversationState } from '../../domain/conversation.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { LogEntry, Message } from '../../domain/message.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SummarizationDelivery, SummarizationTask } from '../../domain/ports/queue.ts';
import type { EarlierSummary, SummaryRequest } from '../../domain/ports/summarizer.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import type { Summary, Version } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { findUserTextBefore } from '../user-messages.ts';
import type { SummarizationPorts } from './ports.ts';
import { copyUserTexts, withoutUserTexts } from './user-texts.ts';

/** Tokens of users' words whatever the cap is. Words that are not kept here are evicted without a summary. */
const MIN_USER_TEXTS_TOKENS = 64;
/** Tokens that users' words leave to the summary in any case. */
const MIN_SUMMARY_TOKENS = 16;
/** Tokens of a message besides its text. */
const MESSAGE_TOKENS = 4;

/** Summaries in a sequence that may be updated instead of reading the log again. */
export interface EarlierSummaries {
  readonly summaries: readonly EarlierSummary[];
  /** Keys of their texts in versions. */
  readonly keys: readonly string[];
  /** Depth of a summary made from them. */
  readonly depth: number;
}

/** Place of a sequence in the live version. */
export interface SequencePlace {
  readonly earlier?: EarlierSummaries;
  /** Number of the version, if only the system prompt precedes the sequence. */
  readonly opensVersion?: number;
}

export interface PreparedRequest {
  readonly status: 'prepared';
  readonly request: SummaryRequest;
  /** Users' words that code puts before the summary. */
  readonly userTexts: string;
}

export interface RefusedSource {
  readonly status: 'refused';
  readonly why: string;
}

export interface RequestParts {
  readonly prepared: PreparedAgent;
  /** Log entries of the sequence. */
  readonly entries: readonly LogEntry[];
  readonly place: SequencePlace;
}

/** The live version may have changed since the plan. A summary is then still made from the log. */
export async function findPlace(
  contexts: Pick<SummarizationPorts['contexts'], 'readContext'>,
  { conversation, sequence }: SummarizationTask,
  { policy, state }: { readonly policy: Policy; readonly state: ConversationState },
): Promise<SequencePlace> {
  if (policy.summarizer === 'structural') return {};
  const source = state.size.version === 0 ? undefined : await contexts.readContext(conversation);
  const opens = opensContext(source?.version.segments ?? [], sequence.from);
  const opening = opens ? { opensVersion: source?.version.number ?? 0 } : {};
  if (source === undefined) return opening;
  const found = source.version.segments.flatMap((segment) => {
    const isWithin = segment.from >= sequence.from && segment.to <= sequence.to;
    if (segment.kind !== 'summary' || !isWithin) return [];
    const summary = source.summaries.get(segment.summaryKey);
    return summary === undefined ? [] : [{ key: segment.summaryKey, summary }];
  });
  const earlier = chooseEarlier(found, policy);
  return earlier === undefined ? opening : { ...opening, earlier };
}

interface FoundSummary {
  readonly key: string;
  readonly summary: Summary;
}

/**
 * Updating summaries costs only the reading of the new messages. The log is read again if the result would be too far from
 * the log. It is read again, too, if code wrote one of the summaries: the outline of code holds less than a model finds.
 * Native summaries have no depth limit. Providers compact their own items again, and the log behind them may exceed the window.
 */
function chooseEarlier(found: readonly FoundSummary[], policy: Policy): EarlierSummaries | undefined {
  const depth = 1 + Math.max(0, ...found.map(({ summary }) => summary.depth));
  const isTooDeep = depth > PASS_LIMITS.maxSummaryDepth && policy.summarizer !== 'native';
  const areModelMade = found.every(({ summary }) => summary.model !== 'structural');
  if (found.length === 0 || isTooDeep || !areModelMade) return undefined;
  const summaries = found.map(({ summary: { text, covers, raw } }) => ({
    text: withoutUserTexts(text),
    covers,
    ...(raw === undefined ? {} : { raw }),
  }));
  return { summaries, keys: found.map(({ key }) => key), depth };
}

/** Evicted segments are not sent, so they may precede the sequence. */
function opensContext(segments: Version['segments'], from: number): boolean {
  if (segments.length === 0) return from === 1;
  return segments.every((segment) => segment.from >= from || segment.kind === 'evicted');
}

/** The request to a summarizer. Refused if no text could be smaller than the sequence and keep a word of its users. */
export async function createRequest(
  { contexts, onEvent, shutdown }: SummarizationPorts,
  { task }: SummarizationDelivery,
  { prepared, entries, place }: RequestParts,
): Promise<PreparedRequest | RefusedSource> {
  const { conversation, passId, sequence } = task;
  const { counter } = prepared;
  const room = summaryRoom(prepared, sequence);
  const userTexts = await copyUserTexts(counter, entries, Math.max(sequence.userTokens, Math.min(MIN_USER_TEXTS_TOKENS, room - MIN_SUMMARY_TOKENS)));
  if (userTexts === undefined)
    return refuse(`${sequence.tokens} tokens are too few for a summary with a word of their users`);
  const maxTokens = room - (await counter.count(userTexts));
  if (maxTokens < 1) return refuse(`${sequence.tokens} tokens are too small to be summarized`);
  const userRequest = await findUserTextBefore(contexts, conversation, sequence.from);
  const later = await readLater(contexts, conversation, sequence.to);
  const { earlier, opensVersion } = place;
  const scope = { purpose: 'summary', ...nameConversation(conversation), passId } as const;
  const request: SummaryRequest = {
    range: { from: sequence.from, to: sequence.to },
    messages: entries.map((entry) => entry.message),
    later,
    userTexts,
    maxTokens,
    signal: shutdown.callsEnd,
    onCall: (call) => onEvent({ type: 'model_called', ...scope, ...call }),
    onPassedOver: (model, outcome) => onEvent({ type: 'model_passed_over', ...scope, model, outcome }),
    ...(userRequest === undefined ? {} : { userRequest }),
    ...(earlier === undefined ? {} : { earlier: earlier.summaries }),
    ...(opensVersion === undefined ? {} : { opensVersion }),
  };
  return { status: 'prepared', request, userTexts };
}

function refuse(why: string): RefusedSource {
  return { status: 'refused', why };
}

/** Messages after a sequence that its summary is written for. */
const MAX_LATER_MESSAGES = 64;

async function readLater(
  contexts: Pick<ContextReader, 'readLog'>,
  conversation: ConversationRef,
  seq: number,
): Promise<Message[]> {
  const entries = await contexts.readLog(conversation, [{ from: seq + 1, to: seq + MAX_LATER_MESSAGES }]);
  return entries.map(({ message }) => message);
}

/** Tokens of a text that keeps the rendered summary within its part of the budget, and smaller than the sequence. */
function summaryRoom({ counter }: PreparedAgent, sequence: SummarizationTask['sequence']): number {
  // The frame is counted around a text: empty, its two line breaks would count as a single token.
  const frameTokens = counter.countSync(renderWidestSummary('x', sequence)) + MESSAGE_TOKENS;
  return Math.min(sequence.tokens - 1, sequence.maxTokens) - frameTokens;
}
