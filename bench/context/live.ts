import type { ReplayedConversation } from '../../src/cli/commands/replay/summary.ts';
import type { Limits } from '../../src/domain/limits.ts';
import type { Message, WeighedMessage } from '../../src/domain/message.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';
import { Replay } from '../../src/evaluation/replay.ts';
import { counts } from './live-context.ts';
import type { BenchRecording } from './points.ts';
import { type CompactMessages, type Row, sumTokens, tokensOf } from './row.ts';

/** Figures of a conversation that is compacted whenever it reaches its limit. */
export interface LiveFigures {
  readonly requests: number;
  readonly passes: number;
  /** Tokens of all requests, at the price of an uncached input token. */
  readonly billed: number;
  /** Sizes and versions for a plot. Absent for the rows of other systems. */
  readonly played?: { readonly replayed: ReplayedConversation; readonly limits: Limits };
}

/** A conversation is compacted when its context has this many times the budget. */
export const THRESHOLD_RATIO = 2;
/** Prices of tokens that a provider reads from its prompt cache, or writes to it. An uncached input token costs 1. */
export const CACHE_READ = 0.1;
export const CACHE_WRITE = 1.25;

/** Replays a recording: one request before each assistant message, one pass whenever the context is too large. */
export async function playLive(
  row: Row,
  recording: BenchRecording,
  maxTokens: number,
): Promise<LiveFigures | undefined> {
  const messages = recording.messages.filter(({ role }) => role !== 'system');
  if (row.live === undefined) return undefined;
  return typeof row.live === 'function'
    ? await playMessages(row.live, messages, maxTokens)
    : await playPolicy(row.live, { id: recording.id, messages }, maxTokens);
}

async function playMessages(
  compact: CompactMessages,
  messages: readonly Message[],
  maxTokens: number,
): Promise<LiveFigures> {
  let context: readonly Message[] = [];
  let sent: readonly Message[] = [];
  let [requests, passes, billed] = [0, 0, 0];
  for (const message of messages) {
    if (message.role === 'assistant') {
      if (sumTokens(context) > THRESHOLD_RATIO * maxTokens) {
        context = await compact(context, maxTokens);
        passes += 1;
      }
      requests += 1;
      billed += billRequest(context, sent);
      sent = context;
    }
    context = [...context, message];
  }
  return { requests, passes, billed };
}

/** The beginning that a request shares with the request before is read from the cache. The rest is written to it. */
export function billRequest(context: readonly Message[], before: readonly Message[]): number {
  const changed = context.findIndex((message, index) => !isSame(message, before[index]));
  const shared = changed === -1 ? context.length : changed;
  const sum = (part: readonly Message[]): number => part.reduce((tokens, message) => tokens + tokensOf(message), 0);
  return CACHE_READ * sum(context.slice(0, shared)) + CACHE_WRITE * sum(context.slice(shared));
}

function isSame(message: Message, before: Message | undefined): boolean {
  return (
    message === before ||
    (message.role === before?.role && message.content === before.content && message.toolCalls === before.toolCalls)
  );
}

const TOKENS_PRICED = 1_000_000;

async function playPolicy(
  policy: Omit<PolicyInput, 'maxTokens'>,
  { id, messages }: { readonly id: string; readonly messages: readonly Message[] },
  maxTokens: number,
): Promise<LiveFigures> {
  const tokenThreshold = THRESHOLD_RATIO * maxTokens;
  const usableTokens = 2 * tokenThreshold;
  const prepared = await prepareOfflineAgent({ ...policy, maxTokens, tokenThreshold }, { usableTokens }, counts);
  const { model } = prepared.agent;
  const prices = { input: 1, cachedInput: CACHE_READ, cacheWrite: CACHE_WRITE, output: 0 };
  const priced = {
    ...prepared,
    agent: { ...prepared.agent, model: { ...model, profile: { ...model.profile, prices } } },
  };
  const weighed: readonly WeighedMessage[] = await weighConversation(messages, priced);
  const replay = new Replay(weighed, priced, await createOfflineSummarizers(counts));
  for (const message of weighed) await replay.add(message);
  const replayed = await replay.end();
  const { figures } = replayed;
  return {
    requests: figures.requests,
    passes: figures.compactions,
    billed: (figures.cost?.withCache ?? 0) * TOKENS_PRICED,
    played: { replayed: { id, ...replayed }, limits: prepared.limits },
  };
}
