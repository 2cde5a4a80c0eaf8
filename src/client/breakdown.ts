import { z } from 'zod';
import {
  addFixedTexts,
  addItems,
  type CategorySize,
  CategorySums,
  type CountText,
} from '../domain/inspection/breakdown.ts';
import { type Cost, toCost } from '../domain/inspection/cost.ts';
import { readThinking } from '../domain/inspection/thinking.ts';
import { FRAMING_TOKENS } from '../domain/limits.ts';
import { parseInput } from '../domain/parse.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import { listThresholds, type NamedThreshold } from '../domain/request-facts.ts';
import type { SizeRecord } from '../domain/size.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { type ContextItem, START_VERSION } from '../domain/version.ts';
import { eventLoopShare } from '../tokens/event-loop-share.ts';
import { noConversation } from './client-errors.ts';
import { readAgentSnapshot } from './contexts.ts';
import { type ConversationName, versionNumberSchema } from './input.ts';
import { type InspectedVersion, type InspectionPorts, readInspected } from './inspected-version.ts';

const breakdownSchema = z.strictObject({
  /** Number of a kept version, shown as of its commit. Absent: the live version, with all later messages. */
  version: versionNumberSchema.optional(),
});

export type BreakdownInput = z.input<typeof breakdownSchema>;

/** Sizes of the parts of a context, in tokens. */
export interface Breakdown {
  /** Number of the version. 0 is the whole log. */
  readonly version: number;
  /** Position (seq) of the last log entry in the context. */
  readonly head: number;
  /** The context window of the model, and what fills it. */
  readonly window: {
    /** Context window of the model. Absent before the first model call of a worker. */
    readonly maxTokens?: number;
    /** Part of the window that is reserved for the answer. */
    readonly reservedTokens?: number;
    /** Size of a request, counted by turnfold: all categories and the framing. */
    readonly usedTokens: number;
    /** The provider's count of the last request and its answer, and turnfold's count of all later messages. */
    readonly providerTokens?: number;
    /** Free tokens of the window, without the request and the reserve. Prefers the provider's count of the request. */
    readonly freeTokens?: number;
  };
  /** Thresholds of the agent's policy at its last model call, the smallest first. */
  readonly thresholds: readonly NamedThreshold[];
  /** Size of a request by the origin of its parts. Every category is present. */
  readonly categories: readonly CategorySize[];
  /** Usage of all settled turns and summaries of the conversation. */
  readonly cost: Cost;
}

/** @throws not_found if the conversation or version never existed. version_gone if the version was dropped. */
export async function readBreakdown(
  ports: InspectionPorts,
  name: ConversationName,
  input: BreakdownInput = {},
): Promise<Breakdown> {
  const inspected = await readInspected(ports, name, parseInput(breakdownSchema, input).version);
  const { state, version } = inspected;
  const isLive = version.number === state.size.version;
  const isWhole = isLive || version.number === START_VERSION.number;
  const head = isWhole ? state.head : version.base;
  const headTotal = isWhole ? state.size.headTotal : version.baseTotal;
  const { requestFacts: facts } = state;
  const key = [inspected.key, head, headTotal.tokens, headTotal.bytes, JSON.stringify(facts)].join('/');
  const point = { ...inspected, state: { ...state, head, size: { ...state.size, headTotal } } };
  const categories = await ports.recentCategories.get(key, () => sumCategories(ports, point));
  const usedTokens = categories.reduce((sum, { tokens }) => sum + tokens, FRAMING_TOKENS);
  const providerTokens = isLive ? readProviderTokens(state.size) : undefined;
  const { windowTokens, reservedTokens = 0 } = facts ?? {};
  return {
    version: version.number,
    head,
    window: {
      ...(windowTokens !== undefined && { maxTokens: windowTokens, reservedTokens }),
      usedTokens,
      ...(providerTokens !== undefined && { providerTokens }),
      ...(windowTokens !== undefined && {
        freeTokens: Math.max(0, windowTokens - reservedTokens - (providerTokens ?? usedTokens)),
      }),
    },
    thresholds: facts === undefined ? [] : listThresholds(facts),
    categories,
    cost: toCost(state.spent ?? NO_USAGE),
  };
}

function readProviderTokens({ anchor, version, headTotal }: SizeRecord): number | undefined {
  if (anchor?.isWhole !== true || anchor.version !== version) return undefined;
  return anchor.tokens + headTotal.tokens - anchor.total.tokens;
}

async function sumCategories(ports: InspectionPorts, inspected: InspectedVersion): Promise<CategorySize[]> {
  const { conversation, state, version } = inspected;
  const context = await ports.recentContexts.read(conversation, state, version.number);
  if (context === undefined) throw noConversation(conversation);
  const snapshot = await readAgentSnapshot(ports, conversation, version);
  const system = snapshot?.system ?? (await ports.contexts.readSystem(conversation)) ?? '';
  const counter = await ports.counterFor(state.agent);
  const count = await createCount(ports, counter, context.items);
  const sums = new CategorySums();
  addFixedTexts(sums, {
    system,
    tools: snapshot?.tools ?? [],
    pins: snapshot?.pins ?? [],
    count,
    facts: state.requestFacts,
  });
  await eventLoopShare.run(addItems(sums, { items: context.items, version: version.number, count }));
  return sums.list();
}

/** A text with more characters than this is counted asynchronously, so that the count does not block the event loop. */
const LONG_CHARS = 20_000;

/**
 * Makes the function that counts texts of a context. The function keeps its counts, so a new message costs only its own
 * count. Long texts are counted in advance, because the later sum cannot pause inside a message.
 */
async function createCount(
  { recentCounts }: InspectionPorts,
  counter: TokenCounter,
  items: readonly ContextItem[],
): Promise<CountText> {
  for (const [text, owner] of items.flatMap(findLongTexts)) {
    if (!recentCounts.has(owner)) recentCounts.set(owner, await counter.count(text));
  }
  return (text, owner) => {
    const tokens = (owner && recentCounts.get(owner)) ?? counter.countSync(text);
    if (owner !== undefined) recentCounts.set(owner, tokens);
    return tokens;
  };
}

/** Finds the calls and thinking with more than `LONG_CHARS` characters, each text with the key of its count. */
function findLongTexts({ message }: ContextItem): (readonly [text: string, owner: object])[] {
  const texts: (readonly [string, object])[] = (message.toolCalls ?? []).map((call) => [
    call.name + call.arguments,
    call,
  ]);
  const thinking = readThinking(message);
  if (thinking !== undefined) texts.push([thinking.text, message]);
  return texts.filter(([text]) => text.length > LONG_CHARS);
}
