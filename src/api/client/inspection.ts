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
import { type EntryFate, passFates, traceAncestors, traceFates } from '../../compaction/inspection/entry-fates.ts';
import { compareIdentifiers } from '../../compaction/inspection/identifiers.ts';
import { outlineEntry } from '../../compaction/inspection/outline.ts';
import {
  type CompactionReport,
  findNewSummaries,
  frameReport,
  type ReportedRange,
  type ReportedSummary,
  showRange,
  sumCost,
} from '../../compaction/inspection/report.ts';
import { readThinking } from '../../compaction/inspection/thinking.ts';
import { findLeft } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import type { LogEntry, Message } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { listThresholds, type RequestFacts } from '../../domain/request-facts.ts';
import type { SizeRecord } from '../../domain/size.ts';
import { NO_USAGE } from '../../domain/usage.ts';
import { type ContextItem, type SeqRange, START_VERSION } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import type { Methods } from '../contract/client.ts';
import { type Breakdown, breakdownInputSchema, outlineInputSchema, reportInputSchema } from '../contract/inspection.ts';
import { noConversation } from './client-errors.ts';
import { readAgentSnapshot } from './contexts.ts';
import {
  type InspectedVersion,
  type InspectionPorts,
  type ReportSource,
  readInspected,
  readRecentContext,
} from './inspected-version.ts';

export const inspectionMethods = {
  /** @throws invalid_input, not_found, version_gone */
  outline: async (ports, name, input = {}) => {
    const { after, limit, version: number } = parseInput(outlineInputSchema, input);
    const inspected = await readInspected(ports, name, number);
    const { head } = inspected.state;
    const entries = await readPage(ports, inspected, { from: after + 1, to: Math.min(head, after + limit) });
    const fateOf = passFates(await readFates(ports, inspected), after + 1);
    const { left = [] } = inspected.state;
    const outlined = entries.map((entry) => ({
      ...outlineEntry(entry, fateOf(entry.seq)),
      ...findLeft(left, entry.seq),
    }));
    const last = entries.at(-1)?.seq ?? head;
    return { version: inspected.version.number, head, entries: outlined, ...(last < head && { next: last }) };
  },
  breakdown: async (ports, name, input = {}) => {
    const inspected = await readInspected(ports, name, parseInput(breakdownInputSchema, input).version);
    const { state, version } = inspected;
    const { requestFacts: facts, size } = state;
    const isLive = version.number === size.version;
    const end =
      isLive || version.number === START_VERSION.number
        ? { head: state.head, headTotal: size.headTotal }
        : { head: version.base, headTotal: version.baseTotal };
    const { head, headTotal } = end;
    const key = [inspected.key, head, headTotal.tokens, headTotal.bytes, JSON.stringify(facts)].join('/');
    const point = { ...inspected, state: { ...state, head, size: { ...size, headTotal } } };
    const categories = await ports.recentCategories.get(key, () => sumCategories(ports, point));
    const usedTokens = categories.reduce((sum, { tokens }) => sum + tokens, FRAMING_TOKENS);
    return {
      version: version.number,
      head,
      window: sizeWindow(facts, usedTokens, isLive ? readProviderTokens(size) : undefined),
      thresholds: facts === undefined ? [] : listThresholds(facts),
      ...(facts && { policy: facts.policy ?? {} }),
      categories,
      cost: toCost(state.spent ?? NO_USAGE),
    };
  },
  report: async (ports, name, number, input = {}) => {
    const { find } = parseInput(reportInputSchema, input);
    const inspected = await readInspected(ports, name, number);
    const key = `${inspected.key}/${find ?? ''}`;
    return await ports.recentReports.get(key, () => makeReport(ports, inspected, find));
  },
} satisfies Methods<InspectionPorts>;

function sizeWindow(
  facts: RequestFacts | undefined,
  usedTokens: number,
  providerTokens: number | undefined,
): Breakdown['window'] {
  const used = { usedTokens, ...(providerTokens !== undefined && { providerTokens }) };
  const { windowTokens: maxTokens, reservedTokens = 0 } = facts ?? {};
  if (maxTokens === undefined) return used;
  const freeTokens = Math.max(0, maxTokens - reservedTokens - (providerTokens ?? usedTokens));
  return { maxTokens, reservedTokens, ...used, freeTokens };
}

async function readFates(
  ports: InspectionPorts,
  { conversation, version, key }: InspectedVersion,
): Promise<readonly EntryFate[]> {
  if (version.segments.length === 0) return [];
  return await ports.recentFates.get(key, async () => {
    const kept = await ports.contexts.listVersions(conversation);
    return await eventLoopShare.run(traceFates(traceAncestors(kept, version)));
  });
}

/** Entries of the first read. A message may have 1 MiB, so reads grow only after a small reply. */
const FIRST_ENTRIES = 25;
const SMALL_BYTES = 1_000_000;
const PAGE_BYTES = 8_000_000;

async function readPage(
  { contexts }: InspectionPorts,
  { conversation }: InspectedVersion,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<LogEntry[]> {
  const read: LogEntry[] = [];
  let [next, count, bytes] = [from, FIRST_ENTRIES, 0];
  while (next <= to && bytes < PAGE_BYTES) {
    const batch = await contexts.readLog(conversation, [{ from: next, to: Math.min(to, next + count - 1) }]);
    if (batch.length === 0) break;
    const batchBytes = batch.reduce((sum, entry) => sum + entry.bytes, 0);
    if (batchBytes < SMALL_BYTES) count *= 2;
    bytes += batchBytes;
    next += batch.length;
    read.push(...batch);
  }
  return read;
}

function readProviderTokens({ anchor, version, headTotal }: SizeRecord): number | undefined {
  if (anchor?.isWhole !== true || anchor.version !== version) return undefined;
  return anchor.tokens + headTotal.tokens - anchor.total.tokens;
}

async function sumCategories(ports: InspectionPorts, inspected: InspectedVersion): Promise<CategorySize[]> {
  const { conversation, state, version } = inspected;
  const context = await readRecentContext(ports, conversation, state, version.number);
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

/** Longer texts are counted asynchronously, so that they do not block the event loop. */
const LONG_CHARS = 20_000;

/** Counts long texts in advance, because the sum cannot pause inside a message. */
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

/** Sizes thinking, and returns the calls and thinking that are too long to be counted here. */
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

async function readSource(ports: InspectionPorts, { conversation, version }: InspectedVersion): Promise<ReportSource> {
  const { parent } = version;
  const isOverLog = parent === null || parent === START_VERSION.number;
  const before = isOverLog ? START_VERSION : await ports.contexts.readVersion(conversation, parent);
  const frame = await eventLoopShare.run(frameReport(version, before));
  const segments = findNewSummaries(version);
  const known = segments.length > 0 && (await ports.contexts.readShownSummaries(conversation, version));
  const summaries = segments.flatMap((segment) => {
    const summary = known && known.get(segment.summaryKey);
    return summary ? [{ segment, summary }] : [];
  });
  return { frame, summaries };
}

async function makeReport(
  ports: InspectionPorts,
  inspected: InspectedVersion,
  find: string | undefined,
): Promise<CompactionReport> {
  const { conversation, key } = inspected;
  const { frame, summaries } = await ports.recentFrames.get(key, () => readSource(ports, inspected));
  const ranges = find !== undefined && {
    evicted: await searchRanges(ports, inspected, frame.evicted, find),
    shortened: await searchRanges(ports, inspected, frame.shortened, find),
  };
  const parts: ReportedSummary[] = [];
  for (const one of summaries) parts.push(await reportSummary(ports, conversation, one, find));
  const cost = sumCost(summaries.map(({ summary }) => summary));
  return { ...frame, ...ranges, ...(cost && { cost }), parts };
}

/** Finds words in ranges that have no summary. */
async function searchRanges(
  { contexts }: InspectionPorts,
  { conversation, version }: InspectedVersion,
  ranges: readonly SeqRange[],
  find: string,
): Promise<readonly ReportedRange[]> {
  const found: ReportedRange[] = [];
  for (const range of ranges) {
    const entries = await contexts.readLog(conversation, [range]);
    const text = await eventLoopShare.run(showRange(version, range, entries));
    const messages = entries.map(({ message }) => message);
    const fates = await eventLoopShare.run(compareIdentifiers({ messages, from: range.from, text, find }));
    found.push(fates.keptCount + fates.lostCount === 0 ? range : { ...range, identifiers: fates });
  }
  return found;
}

async function reportSummary(
  { contexts }: InspectionPorts,
  conversation: ConversationRef,
  { segment: { from, to, weight }, summary: { text, model } }: ReportSource['summaries'][number],
  find: string | undefined,
): Promise<ReportedSummary> {
  const entries = await contexts.readLog(conversation, [{ from, to }]);
  const messages = entries.map(({ message }) => message);
  const identifiers = await eventLoopShare.run(compareIdentifiers({ messages, from, text, find }));
  const sourceTokens = entries.reduce((sum, { tokens }) => sum + tokens, 0);
  return { from, to, strategy: model, tokens: weight.tokens, sourceTokens, text, identifiers };
}
