import { compareIdentifiers } from '../../compaction/inspection/identifiers.ts';
import {
  type CompactionReport,
  findNewSummaries,
  frameReport,
  type ReportedRange,
  type ReportedSummary,
  showRange,
  sumCost,
} from '../../compaction/inspection/report.ts';
import { parseInput } from '../../domain/parse.ts';
import { type SeqRange, START_VERSION, type Summary, type SummarySegment, type Version } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { type ReportInput, reportInputSchema } from '../contract/inspection.ts';
import type { ConversationName } from '../contract/names.ts';
import { type InspectedVersion, type InspectionPorts, type ReportSource, readInspected } from './inspected-version.ts';

/** @throws not_found if the conversation or version never existed. version_gone if the version was dropped. */
export async function reportVersion(
  ports: InspectionPorts,
  name: ConversationName,
  number: number,
  input: ReportInput = {},
): Promise<CompactionReport> {
  const { find } = parseInput(reportInputSchema, input);
  const inspected = await readInspected(ports, name, number);
  const key = `${inspected.key}/${find ?? ''}`;
  return await ports.recentReports.get(key, () => makeReport(ports, inspected, find));
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

/** Adds to each range the words that contain the text in `find`. */
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
