import { buildInSlices } from '../../compaction/context.ts';
import { SMALL_ROOM_TOKENS } from '../../compaction/summary-caps.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import { type LogEntry, type Message, withoutReasoning } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { Policy } from '../../domain/policy.ts';
import {
  type CachedPrefix,
  type EarlierSummary,
  MAX_READ_MESSAGES,
  type SummaryCall,
  type SummaryRequest,
} from '../../domain/summarizer.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import type { TurnUsage } from '../../domain/turn.ts';
import { joinUsage, NO_USAGE, toMicros } from '../../domain/usage.ts';
import type { SeqRange, Summary, Version } from '../../domain/version.ts';
import type { SummarizationDelivery, SummarizationTask } from '../../jobs/ports.ts';
import type { ContextReader } from '../../store/contexts.ts';
import type { SummaryLease } from '../../store/summaries.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { type PreparedAgent, prepareAsLastTurn } from '../prepared-agent.ts';
import { hintProvider } from '../turn/model-request.ts';
import type { SummarizationPorts } from '../worker-ports.ts';
import { copyUserTexts, withoutUserTexts } from './user-texts.ts';

/** Least tokens for copied user texts, even beyond their share: user texts that are not copied leave the context. */
const MIN_USERS_TOKENS = 64;
/** In a small summary by code, share and least tokens of the first user text. Texts without rules compete as lines. */
const OPENING_SHARE = 0.2;
const MIN_OPENING_TOKENS = 50;
/** Share of a summary for rules of users, even beyond the share of users. A few rules may take up to `MOST_SHARE`. */
const RULES_SHARE = 0.3;
const MOST_SHARE = 0.6;
const FEW_RULES_TOKENS = 120;
/** Tokens reserved for the summary itself, however long the copied user texts are. */
const MIN_SUMMARY_TOKENS = 16;
const MAX_LATER_MESSAGES = 64;
/** Tokens of a message in addition to its text. */
const MESSAGE_TOKENS = 4;

/** Summaries within a sequence. A new summary can update them, so that the log need not be read again. */
export interface EarlierSummaries {
  readonly summaries: readonly EarlierSummary[];
  readonly keys: readonly string[];
  /** How many times in a row the text of the new summary will have been summarized. */
  readonly depth: number;
}

interface SequencePlace {
  readonly earlier?: EarlierSummaries;
  /** Texts of the summaries within a long sequence. */
  readonly older?: string;
  /** Version in which only the system prompt comes before the sequence. */
  readonly opensVersion?: number;
}

export interface PreparedRequest {
  readonly status: 'prepared';
  readonly request: SummaryRequest;
  /** User texts that are copied in front of the summary. */
  readonly userTexts: string;
  readonly usage: SummaryUsage;
}

interface RefusedSource {
  readonly status: 'refused';
  readonly why: string;
}

interface RequestParts {
  readonly lease: SummaryLease;
  readonly prepared: PreparedAgent;
  readonly entries: readonly LogEntry[];
  readonly place: SequencePlace;
  readonly head: number;
}

/** Finds a sequence in the live version, which may have changed since the plan. If not found, the log is summarized. */
export async function findPlace(
  contexts: Pick<SummarizationPorts['contexts'], 'readContext'>,
  { conversation, sequence }: SummarizationTask,
  { policy, state }: { readonly policy: Policy; readonly state: ConversationState },
): Promise<SequencePlace> {
  const isLong = sequence.to - sequence.from >= MAX_READ_MESSAGES;
  if (policy.summarizer === 'structural' && !isLong) return {};
  const source = state.size.version === 0 ? undefined : await contexts.readContext(conversation);
  const opens = opensContext(source?.version.segments ?? [], sequence.from);
  const opening = opens ? { opensVersion: source?.version.number ?? 0 } : {};
  if (source === undefined) return opening;
  const found = findSummaries(source, sequence);
  const older = joinTexts(found, isLong);
  if (policy.summarizer === 'structural') return older;
  const earlier = chooseEarlier(found, policy);
  return { ...opening, ...older, ...(earlier === undefined ? {} : { earlier }) };
}

interface FoundSummary {
  readonly key: string;
  readonly summary: Summary;
}

function findSummaries({ version, summaries }: ContextSource, { from, to }: SeqRange): FoundSummary[] {
  return version.segments.flatMap((segment) => {
    const isWithin = segment.from >= from && segment.to <= to;
    if (segment.kind !== 'summary' || !isWithin) return [];
    const summary = summaries.get(segment.summaryKey);
    return summary === undefined ? [] : [{ key: segment.summaryKey, summary }];
  });
}

function joinTexts(found: readonly FoundSummary[], isLong: boolean): Pick<SequencePlace, 'older'> {
  const texts = found.map(({ summary }) => withoutUserTexts(summary.text));
  return !isLong || texts.length === 0 ? {} : { older: texts.join('\n') };
}

/**
 * Chooses earlier summaries to update, which costs less than reading the log. The log is read again if a text was
 * summarized too often, or if code wrote one of them, because a model's summary contains more. Compactions by a
 * provider have no such limit, because their messages can exceed the window.
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

/** True if all segments of the version before `from` are evicted. */
function opensContext(segments: Version['segments'], from: number): boolean {
  if (segments.length === 0) return from === 1;
  return segments.every((segment) => segment.from >= from || segment.kind === 'evicted');
}

/** Creates the request for a summary. Refuses a sequence of so few tokens that no smaller text could quote a user. */
export async function createRequest(
  { contexts, summaries, onEvent, shutdown, gates }: SummarizationPorts,
  { task }: SummarizationDelivery,
  { lease, prepared, entries, place, head }: RequestParts,
): Promise<PreparedRequest | RefusedSource> {
  const { conversation, passId, sequence } = task;
  const { counter } = prepared;
  const room = summaryRoom(prepared, sequence);
  const userTexts = await copyUsers(prepared, entries, sequence, room);
  const few = `the sequence has ${sequence.tokens} tokens, too few for a smaller summary`;
  if (userTexts === undefined) return { status: 'refused', why: `${few} that keeps a user message` };
  const maxTokens = room - (await counter.count(userTexts));
  if (maxTokens < 1) return { status: 'refused', why: few };
  const userRequest = await findUserTextBefore(contexts, conversation, sequence.from);
  const behind = { from: sequence.to + 1, to: sequence.to + MAX_LATER_MESSAGES };
  const later = await contexts.readLog(conversation, [behind]);
  const firstKept = head - prepared.policy.retentionWindow;
  const { earlier, older, opensVersion } = place;
  const usage = new SummaryUsage();
  const scope = { purpose: 'summary', ...nameConversation(conversation), passId } as const;
  const request: SummaryRequest = {
    range: { from: sequence.from, to: sequence.to },
    messages: entries.map((entry) => entry.message),
    later: later.map(({ message }) => message),
    keptLater: later.filter(({ seq }) => seq > firstKept).length,
    userTexts,
    maxTokens,
    system: prepared.system,
    parts: {
      read: (key) => summaries.readPart(conversation, key),
      async write(key, text) {
        const sent = usage.takeUnstored();
        const recorded = await summaries.recordPart(lease, key, text, sent);
        if (recorded !== 'recorded') usage.addUnstored(sent);
      },
    },
    readPrefix: () =>
      readPrefix(contexts, prepared, { conversation, sequence, summaries: earlier?.summaries.length ?? 0 }),
    signal: shutdown.callsEnd,
    ...(gates && { gate: gates.gateFor(`summary|${conversation.tenant}|${conversation.id}|${task.hash}`) }),
    onCall: (call) => {
      usage.add(call);
      onEvent({ type: 'model_called', ...scope, ...call });
    },
    onPassedOver: (model, outcome) => onEvent({ type: 'model_passed_over', ...scope, model, outcome }),
    ...(userRequest === undefined ? {} : { userRequest }),
    ...(earlier === undefined ? {} : { earlier: earlier.summaries }),
    ...(older === undefined ? {} : { older }),
    ...(opensVersion === undefined ? {} : { opensVersion }),
  };
  return { status: 'prepared', request, userTexts, usage };
}

/** A small summary by code copies rules and the first user text only. That text usually states the topic. */
async function copyUsers(
  { counter, policy: { summarizer, scope } }: PreparedAgent,
  entries: readonly LogEntry[],
  { userTokens }: SummarizationTask['sequence'],
  room: number,
): Promise<string | undefined> {
  const isOpening = summarizer === 'structural' && scope === 'sequences' && room < SMALL_ROOM_TOKENS;
  const share = isOpening ? Math.max(MIN_OPENING_TOKENS, OPENING_SHARE * room) : Math.max(MIN_USERS_TOKENS, userTokens);
  const rules = Math.max(RULES_SHARE * room, Math.min(MOST_SHARE * room, FEW_RULES_TOKENS));
  const within = (tokens: number): number => Math.floor(Math.min(room - MIN_SUMMARY_TOKENS, tokens));
  return await copyUserTexts(counter, entries, { maxTokens: within(share), mostTokens: within(rules), isOpening });
}

/** Token usage of the model calls for one summary, in this attempt of its job. */
class SummaryUsage {
  total = NO_USAGE;
  #unstored = NO_USAGE;

  add({ inputTokens = 0, outputTokens = 0, cachedTokens = 0, cost = 0 }: SummaryCall): void {
    const usage = { inputTokens, outputTokens, cachedTokens, costMicros: toMicros(cost) };
    this.total = joinUsage(this.total, usage);
    this.addUnstored(usage);
  }

  addUnstored(usage: TurnUsage): void {
    this.#unstored = joinUsage(this.#unstored, usage);
  }

  /** Usage since the last part was stored. It is stored with the next part or with the summary, so no call counts twice. */
  takeUnstored(): TurnUsage {
    const taken = this.#unstored;
    this.#unstored = NO_USAGE;
    return taken;
  }
}

/** Tokens for the text of a summary. With its tags, it must stay within its cap, and be smaller than the messages. */
function summaryRoom({ counter }: PreparedAgent, sequence: SummarizationTask['sequence']): number {
  // The frame is counted around a text `x`: without a text, the two line breaks between the tags would count as one
  // token.
  const frameTokens = counter.countSync(renderWidestSummary('x', sequence)) + MESSAGE_TOKENS;
  return Math.min(sequence.tokens - 1, sequence.maxTokens) - frameTokens;
}

const CHUNK = 16;

/** Finds a user text among the 16 entries before `seq`. */
async function findUserTextBefore(
  contexts: Pick<ContextReader, 'readLog'>,
  conversation: ConversationRef,
  seq: number,
): Promise<string | undefined> {
  if (seq <= 1) return undefined;
  const entries = await contexts.readLog(conversation, [{ from: Math.max(1, seq - CHUNK), to: seq - 1 }]);
  return entries.findLast((entry) => entry.message.role === 'user')?.message.content;
}

interface PrefixPlace {
  readonly conversation: ConversationRef;
  readonly sequence: SummarizationTask['sequence'];
  /** Number of earlier summaries that the summarizer updates. */
  readonly summaries: number;
}

/**
 * Reads the messages that the agent's model was sent, up to the end of the sequence. Its provider may have cached them.
 * @returns undefined if the agent's model was sent the sequence in another form than the summarizer should read
 */
async function readPrefix(
  contexts: SummarizationPorts['contexts'],
  agent: PreparedAgent,
  { conversation, sequence, summaries }: PrefixPlace,
): Promise<CachedPrefix | undefined> {
  const source = await contexts.readContext(conversation);
  if (source === undefined) return undefined;
  const { segments, number: version } = source.version;
  const within = segments.filter(({ from, to }) => to >= sequence.from && from <= sequence.to);
  const isWhole = within.every(
    ({ kind, from, to }) =>
      (kind === 'raw' || kind === 'summary') && (kind === 'raw' || (from >= sequence.from && to <= sequence.to)),
  );
  if (!isWhole || within.filter(({ kind }) => kind === 'summary').length !== summaries) return undefined;
  const { items } = await eventLoopShare.run(buildInSlices(source));
  const shown = items.filter(({ to }) => to <= sequence.to);
  // The agent's model was sent the loaded contents, which would have to be loaded again.
  if (agent.agent.loadContent !== undefined && shown.some(({ message }) => hasReference(message))) return undefined;
  const { system, tools, overhead } = await prepareAsLastTurn(contexts, conversation, agent);
  const { cache } = hintProvider(agent, conversation, {});
  return {
    system,
    tools,
    ...(cache && { cache }),
    messages: withoutReasoning(shown.map(({ message }) => message)),
    version,
    tokens: overhead.tokens + shown.reduce((sum, { tokens }) => sum + tokens, 0),
    rangeTokens: sequence.tokens,
  };
}

function hasReference(message: Message): boolean {
  return message.parts !== undefined && readParts(message).some(({ kind }) => kind === 'reference');
}
