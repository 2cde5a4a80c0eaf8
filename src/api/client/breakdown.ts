import {
  addFixedTexts,
  addItems,
  type CategorySize,
  CategorySums,
  type CountText,
  type SizedThinking,
  sizeThinking,
} from '../../compaction/inspection/breakdown.ts';
import { toCost } from '../../compaction/inspection/cost.ts';
import { readThinking } from '../../compaction/inspection/thinking.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import type { Message } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { listThresholds } from '../../domain/request-facts.ts';
import type { SizeRecord } from '../../domain/size.ts';
import { NO_USAGE } from '../../domain/usage.ts';
import { type ContextItem, START_VERSION } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { type Breakdown, type BreakdownInput, breakdownInputSchema } from '../contract/inspection.ts';
import type { ConversationName } from '../contract/names.ts';
import { noConversation } from './client-errors.ts';
import { readAgentSnapshot } from './contexts.ts';
import { type InspectedVersion, type InspectionPorts, readInspected } from './inspected-version.ts';

/** @throws not_found if the conversation or version never existed. version_gone if the version was dropped. */
export async function readBreakdown(
  ports: InspectionPorts,
  name: ConversationName,
  input: BreakdownInput = {},
): Promise<Breakdown> {
  const inspected = await readInspected(ports, name, parseInput(breakdownInputSchema, input).version);
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
    ...(facts && { policy: facts.policy ?? {} }),
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
  const thinkingOf = (message: Message): SizedThinking | undefined => ports.recentThinking.get(message);
  await eventLoopShare.run(addItems(sums, { items: context.items, version: version.number, count, thinkingOf }));
  return sums.list();
}

/** A text with more characters than this is counted asynchronously, so that the count does not block the event loop. */
const LONG_CHARS = 20_000;

/**
 * Makes the function that counts the calls of a context, and sizes its thinking. All counts are kept, so a new message
 * costs only its own count. Long texts are counted in advance, because the later sum cannot pause inside a message.
 */
async function createCount(
  ports: InspectionPorts,
  counter: TokenCounter,
  items: readonly ContextItem[],
): Promise<CountText> {
  const { recentCounts } = ports;
  const longTexts = await eventLoopShare.run(sizeThinkingInSlices(ports, counter, items));
  for (const { text, keep } of longTexts) keep(await counter.count(text));
  return (text, call) => {
    const tokens = (call && recentCounts.get(call)) ?? counter.countSync(text);
    if (call !== undefined) recentCounts.set(call, tokens);
    return tokens;
  };
}

interface LongText {
  readonly text: string;
  readonly keep: (tokens: number) => void;
}

/**
 * Sizes the thinking of each new message, which must be parsed. Returns the calls and thinking with more than
 * `LONG_CHARS` characters, which the caller counts.
 */
function* sizeThinkingInSlices(
  { recentCounts, recentThinking }: InspectionPorts,
  counter: TokenCounter,
  items: readonly ContextItem[],
): Interruptible<LongText[]> {
  const longTexts: LongText[] = [];
  for (const [index, { message }] of items.entries()) {
    if (endsSlice(index)) yield;
    for (const call of message.toolCalls ?? []) {
      const isLong = call.name.length + call.arguments.length > LONG_CHARS;
      if (!isLong || recentCounts.has(call)) continue;
      longTexts.push({ text: call.name + call.arguments, keep: (tokens) => void recentCounts.set(call, tokens) });
    }
    if (message.raw === undefined || recentThinking.has(message)) continue;
    const thinking = readThinking(message);
    const keep = (tokens: number): void => {
      recentThinking.set(message, thinking && sizeThinking(thinking, tokens));
    };
    if (thinking !== undefined && thinking.text.length > LONG_CHARS) longTexts.push({ text: thinking.text, keep });
    else keep(thinking === undefined ? 0 : counter.countSync(thinking.text));
    yield;
  }
  return longTexts;
}
