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
  /** Number of a kept version, as it was when it was made. Absent: the live one, with the whole log behind it. */
  version: versionNumberSchema.optional(),
});

export type BreakdownInput = z.input<typeof breakdownSchema>;

/** What fills the context of a version. Sizes are in tokens. */
export interface Breakdown {
  readonly version: number;
  /** Position (seq) of the last log entry in the context. */
  readonly head: number;
  readonly window: {
    /** Context window of the model. Absent before the first model call of a worker. */
    readonly maxTokens?: number;
    /** Part of the window that is reserved for the answer. */
    readonly reservedTokens?: number;
    /** Size of a request, counted by turnfold: all categories and the framing. */
    readonly usedTokens: number;
    /** The provider's count of the last request and its answer, and turnfold's count of all later messages. */
    readonly providerTokens?: number;
    /** Window without reserve and request. The provider's count is used if there is one. */
    readonly freeTokens?: number;
  };
  /** Thresholds of the agent's policy at its last model call, the smallest first. */
  readonly thresholds: readonly NamedThreshold[];
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
  const count = await createCount(counter, context.items);
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

/** Characters of a text that is counted without blocking the event loop. */
const LONG_CHARS = 20_000;

/** Counts the long texts of the items in advance, because the items are then summed without a pause inside a message. */
async function createCount(counter: TokenCounter, items: readonly ContextItem[]): Promise<CountText> {
  const counted = new Map<string, number>();
  for (const { message } of items) {
    const texts = (message.toolCalls ?? []).map((call) => call.name + call.arguments);
    const thinking = message.raw === undefined ? undefined : readThinking(message)?.text;
    for (const text of thinking === undefined ? texts : [...texts, thinking]) {
      if (text.length > LONG_CHARS) counted.set(text, await counter.count(text));
    }
  }
  return (text) => counted.get(text) ?? counter.countSync(text);
}
