import type { ToolContext } from '../../src/domain/agent.ts';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { Message } from '../../src/domain/message.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { type CompactedConversation, compactConversation } from '../../src/evaluation/compact.ts';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';
import { RememberedCounts } from '../../src/evaluation/remembered-counts.ts';
import { createStructuralSummarizer } from '../../src/summarize/structural/structural-summarizer.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { LineIndexes } from '../../src/workers/recall/line-indexes.ts';
import { Recall } from '../../src/workers/recall/recall.ts';
import type { BenchPoint } from './points.ts';
import type { Row } from './row.ts';

type Policy = Omit<PolicyInput, 'maxTokens'>;

const counter = await loadTokenCounter('o200k_base');
const counts = new RememberedCounts();
const signal = new AbortController().signal;

/** Compacts a source with one pass that a person requested. @returns undefined if no context fits */
export async function compactOnce(
  policy: Policy,
  source: readonly Message[],
  maxTokens: number,
): Promise<CompactedConversation | undefined> {
  if (maxTokens < 1) return undefined; // a recall answer takes more than the whole budget of a short source
  const prepared = await prepareOfflineAgent({ ...policy, maxTokens }, {}, counts);
  const weighed = await weighConversation(source, prepared);
  try {
    return await compactConversation(weighed, prepared, await createOfflineSummarizers(counts));
  } catch (error) {
    if (error instanceof TurnfoldError && error.code === 'budget_infeasible') return undefined;
    throw error;
  }
}

function ladder(name: string, policy: Policy): Row {
  return {
    name,
    live: policy,
    compact: async ({ point }, maxTokens) => (await compactOnce(policy, point.source, maxTokens))?.messages,
  };
}

/** Writes one summary of the whole source with the whole budget. */
async function summaryAlone({ point }: BenchPoint, maxTokens: number): Promise<string | undefined> {
  const { source } = point;
  const range = { from: 1, to: source.length };
  const answer = await createStructuralSummarizer({ counter }).summarize({
    range,
    messages: source,
    maxTokens,
    signal,
  });
  return answer.status === 'written' ? answer.text : undefined;
}

/** Maximum tokens of a recall answer, and its share of a small budget. */
const ANSWER_TOKENS = 1_000;
const ANSWER_SHARE = 0.2;
const MIN_ANSWER_TOKENS = 100;
const MAX_QUERY_CHARS = 400;

/**
 * Gives the agent one call of the recall tool beside its compacted context. The query is the user's next request. If no
 * request follows within the needles' horizon, the query is the last request before the cut. The answer is part of the budget.
 */
async function withRecall(bench: BenchPoint, maxTokens: number): Promise<readonly Message[] | undefined> {
  const limit = Math.max(MIN_ANSWER_TOKENS, Math.floor(Math.min(ANSWER_TOKENS, ANSWER_SHARE * maxTokens)));
  const compacted = await compactOnce({}, bench.point.source, maxTokens - limit);
  if (compacted === undefined) return undefined;
  const { messages } = compacted;
  const query = requestOf(bench).trim();
  if (query === '') return messages;
  const content = await openRecall(compacted, ANSWER_TOKENS)(query, limit);
  return [...messages, { role: 'user', content }];
}

/** Opens the recall tool of a compacted conversation. @param maxTokens maximum tokens of an answer */
export function openRecall({ conversation }: CompactedConversation, maxTokens: number) {
  const { version } = conversation.context;
  const contexts = {
    ...conversation.readers,
    listVersions: async () => [version],
    readVersion: async () => version,
    readText: async () => undefined,
  };
  const place = { conversation: conversation.ref, contexts, state: conversation.state };
  const tool = new Recall(counter, maxTokens, new LineIndexes()).open(place);
  return async (query: string, limit: number): Promise<string> => {
    const asked = query.slice(0, MAX_QUERY_CHARS).trim();
    const answer = await tool.run?.({ query: asked, limit }, { signal } as ToolContext);
    return typeof answer === 'string' ? answer : '';
  };
}

const HORIZON = 40;

function requestOf({ point: { recording, cut } }: BenchPoint): string {
  const isRequest = ({ role, content }: Message): boolean => role === 'user' && content.trim() !== '';
  const { messages } = recording;
  const next = messages.slice(cut, cut + HORIZON).find(isRequest);
  return (next ?? messages.slice(0, cut).findLast(isRequest))?.content ?? '';
}

export const LADDERS: readonly Row[] = [
  { name: 'turnfold summary', compact: summaryAlone },
  ladder('turnfold', {}),
  { ...ladder('turnfold prefix', { scope: 'prefix' }), isExtra: true },
  { ...ladder('turnfold keepPrefix 0.2', { keepPrefix: 0.2 }), isExtra: true },
  { ...ladder('turnfold keepPrefix 0.4', { keepPrefix: 0.4 }), isExtra: true },
  { ...ladder('turnfold keepPrefix 0.6', { keepPrefix: 0.6 }), isExtra: true },
  { ...ladder('turnfold keepPrefix 0.8', { keepPrefix: 0.8 }), isExtra: true },
  { name: 'turnfold + recall', compact: withRecall },
];
