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
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import type { LogEntry, Message } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { listThresholds } from '../../domain/request-facts.ts';
import type { SizeRecord } from '../../domain/size.ts';
import { NO_USAGE } from '../../domain/usage.ts';
import {
  type ContextItem,
  type SeqRange,
  START_VERSION,
  type Summary,
  type SummarySegment,
  type Version,
} from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import type { Methods } from '../contract/client.ts';
import { breakdownInputSchema, outlineInputSchema, reportInputSchema } from '../contract/inspection.ts';
import { noConversation } from './client-errors.ts';
import { readAgentSnapshot } from './contexts.ts';
import { type InspectedVersion, type InspectionPorts, type ReportSource, readInspected } from './inspected-version.ts';

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
  },
  report: async (ports, name, number, input = {}) => {
    const { find } = parseInput(reportInputSchema, input);
    const inspected = await readInspected(ports, name, number);
    const key = `${inspected.key}/${find ?? ''}`;
    return await ports.recentReports.get(key, () => makeReport(ports, inspected, find));
  },
} satisfies Methods<InspectionPorts>;

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

/** Entries of the first read. A message may have 1 MiB, so the next read is doubled only after a small reply. */
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

/** Texts with more characters are counted asynchronously, so that they do not block the event loop. */
const LONG_CHARS = 20_000;

/**
 * Returns a function that counts tokens and keeps the counts. Long texts are counted in advance, because the sum cannot
 * pause inside a message.
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

/** Returns the calls and thinking with more than `LONG_CHARS` characters, which the caller counts. */
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
  const frame = await eventLoopShare.run(frameReport(version, await readParent(ports, { conversation, version })));
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
  const { conversation, version, key } = inspected;
  const { frame, summaries } = await ports.recentFrames.get(key, () => readSource(ports, inspected));
  const ranges = {
    evicted: await searchRanges(ports, { conversation, version, find }, frame.evicted),
    shortened: await searchRanges(ports, { conversation, version, find }, frame.shortened),
  };
  const parts: ReportedSummary[] = [];
  for (const one of summaries) parts.push(await reportSummary(ports, conversation, { ...one, find }));
  const cost = sumCost(summaries.map(({ summary }) => summary));
  return { ...frame, ...ranges, ...(cost && { cost }), parts };
}

interface RangeSearch extends Pick<InspectedVersion, 'conversation' | 'version'> {
  readonly find: string | undefined;
}

async function searchRanges(
  { contexts }: InspectionPorts,
  { conversation, version, find }: RangeSearch,
  ranges: readonly SeqRange[],
): Promise<readonly ReportedRange[]> {
  if (find === undefined) return ranges;
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

async function readParent(
  { contexts }: InspectionPorts,
  { conversation, version: { parent } }: Pick<InspectedVersion, 'conversation' | 'version'>,
): Promise<Version | undefined> {
  if (parent === null || parent === START_VERSION.number) return START_VERSION;
  return await contexts.readVersion(conversation, parent);
}

interface SummaryParts {
  readonly segment: SummarySegment;
  readonly summary: Summary;
  readonly find: string | undefined;
}

async function reportSummary(
  { contexts }: InspectionPorts,
  conversation: InspectedVersion['conversation'],
  { segment: { from, to, weight }, summary: { text, model }, find }: SummaryParts,
): Promise<ReportedSummary> {
  const entries = await contexts.readLog(conversation, [{ from, to }]);
  const messages = entries.map(({ message }) => message);
  const identifiers = await eventLoopShare.run(compareIdentifiers({ messages, from, text, find }));
  const sourceTokens = entries.reduce((sum, { tokens }) => sum + tokens, 0);
  return { from, to, strategy: model, tokens: weight.tokens, sourceTokens, text, identifiers };
}
