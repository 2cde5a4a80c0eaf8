import { type EntryFate, passFates, traceAncestors, traceFates } from '../../compaction/inspection/entry-fates.ts';
import { outlineEntry } from '../../compaction/inspection/outline.ts';
import { findLeft } from '../../domain/conversation.ts';
import type { LogEntry } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { type Outline, type OutlineInput, outlineInputSchema } from '../contract/inspection.ts';
import type { ConversationName } from '../contract/names.ts';
import { type InspectedVersion, type InspectionPorts, readInspected } from './inspected-version.ts';

/**
 * @throws invalid_input for an invalid input. not_found if the conversation or version never existed. version_gone if
 * the version was dropped.
 */
export async function readOutline(
  ports: InspectionPorts,
  name: ConversationName,
  input: OutlineInput = {},
): Promise<Outline> {
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

/** Number of entries in the first read. A message may have 1 MiB, so only a small reply doubles the next read. */
const FIRST_ENTRIES = 25;
const SMALL_BYTES = 1_000_000;
/** A page ends early once its messages have this many bytes. */
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
