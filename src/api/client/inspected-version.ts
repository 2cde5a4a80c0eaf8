import { buildInSlices } from '../../compaction/context.ts';
import { keepLastEvidence } from '../../compaction/context-evidence.ts';
import type { CategorySize, SizedThinking } from '../../compaction/inspection/breakdown.ts';
import type { EntryFate } from '../../compaction/inspection/entry-fates.ts';
import type { CompactionReport, ReportFrame } from '../../compaction/inspection/report.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { addWeights, type LogEntry, type Message, type ToolCall, type Weight } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import type { ContextItem, Summary, SummarySegment, Version } from '../../domain/version.ts';
import type { WorkDone, WorkReader } from '../../summarize/progress/work-done.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { type ConversationName, readConversationName, versionNumberSchema } from '../contract/names.ts';
import { readConversationState, readKeptVersion } from './contexts.ts';
import type { ClientPorts } from './ports.ts';

export interface ReportSource {
  readonly frame: ReportFrame;
  readonly summaries: readonly { readonly segment: SummarySegment; readonly summary: Summary }[];
}

export interface InspectionPorts extends ClientPorts {
  readonly recentContexts: RecentValues<RecentContext | undefined>;
  readonly recentFates: RecentValues<readonly EntryFate[]>;
  readonly recentCategories: RecentValues<readonly CategorySize[]>;
  readonly recentReports: RecentValues<CompactionReport>;
  readonly recentFrames: RecentValues<ReportSource>;
  readonly recentWork: RecentValues<{ readonly reader: WorkReader; readonly shown: WorkDone }>;
  readonly recentCounts: WeakMap<ToolCall, number>;
  /** Value undefined: the message has no thinking. */
  readonly recentThinking: WeakMap<Message, SizedThinking | undefined>;
  readonly readEvidence: ReturnType<typeof keepLastEvidence>;
}

export function withRecent(ports: ClientPorts): InspectionPorts {
  return {
    ...ports,
    recentContexts: new RecentValues(CONTEXT_LIMITS),
    recentFates: new RecentValues({ values: 64 }),
    recentCategories: new RecentValues({ values: 64 }),
    recentReports: new RecentValues({ values: 16 }),
    recentFrames: new RecentValues({ values: 16 }),
    recentWork: new RecentValues({ values: 16 }),
    recentCounts: new WeakMap(),
    recentThinking: new WeakMap(),
    readEvidence: keepLastEvidence(),
  };
}

export interface InspectedVersion {
  readonly conversation: ConversationRef;
  readonly state: ConversationState;
  readonly version: Version;
  /** Cache key. A new conversation with the same id has another key. */
  readonly key: string;
}

/** @param number Kept version to read. Undefined: the live version. @throws not_found, version_gone */
export async function readInspected(
  ports: ClientPorts,
  name: ConversationName,
  number: number | undefined,
): Promise<InspectedVersion> {
  const conversation = readConversationName(name);
  if (number !== undefined) parseInput(versionNumberSchema, number, 'version');
  const state = await readConversationState(ports, conversation);
  const wanted = number ?? state.size.version;
  const version = await readKeptVersion(ports, { conversation, size: state.size }, wanted);
  return { conversation, state, version, key: `${prefixOf(conversation)}${state.incarnation}/${wanted}` };
}

interface CacheLimits<Value> {
  readonly values: number;
  /** Limit of all values together, as `bytesOf` counts them. */
  readonly bytes?: number;
  readonly bytesOf?: (value: Value) => number;
}

/** Keeps the values that were used last. Callers share a computation in progress. */
class RecentValues<Value> {
  readonly #limits: Required<CacheLimits<Value>>;
  /** The value that was used last comes last. */
  readonly #kept = new Map<string, { readonly value: Promise<Value>; bytes: number }>();
  #bytes = 0;

  constructor(limits: CacheLimits<Value>) {
    this.#limits = { bytes: 0, bytesOf: () => 0, ...limits };
  }

  async get(key: string, compute: () => Promise<Value>): Promise<Value> {
    const kept = this.#kept.get(key) ?? { value: compute(), bytes: 0 };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    try {
      const value = await kept.value;
      // A value that was removed from the cache while it was computed is not kept.
      if (this.#kept.get(key) === kept) this.#weigh(key, this.#limits.bytesOf(value));
      return value;
    } catch (error) {
      if (this.#kept.get(key) === kept) this.#drop(key);
      throw error;
    }
  }

  /** Removes a value whose key starts with the prefix, and returns it. */
  async take(prefix: string): Promise<Value | undefined> {
    const [key, kept] = this.#kept.entries().find(([name]) => name.startsWith(prefix)) ?? [];
    if (key !== undefined) this.#drop(key);
    return await kept?.value.catch(() => undefined);
  }

  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#drop(key);
  }

  #weigh(key: string, bytes: number): void {
    const kept = this.#kept.get(key);
    const { values, bytes: most } = this.#limits;
    if (kept === undefined || bytes > most) {
      this.#drop(key);
      return;
    }
    this.#bytes += bytes - kept.bytes;
    kept.bytes = bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= values && this.#bytes <= most) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

interface RecentContext {
  readonly version: Version;
  readonly head: number;
  readonly headTotal: Weight;
  readonly items: readonly ContextItem[];
  readonly bytes: number;
}

/** A context of 10,000 messages has about 15 MB. */
const CONTEXT_LIMITS: CacheLimits<RecentContext | undefined> = {
  values: 16,
  bytes: 64_000_000,
  bytesOf: (context) => context?.bytes ?? Number.POSITIVE_INFINITY,
};

type Position = Pick<ConversationState, 'incarnation' | 'head' | 'size'>;

/** Reads a context. If an earlier context of the version is kept, reads only the log entries since then. */
export async function readRecentContext(
  { contexts, recentContexts }: InspectionPorts,
  conversation: ConversationRef,
  state: Position,
  number: number,
): Promise<RecentContext | undefined> {
  const prefix = `${prefixOf(conversation)}${state.incarnation}/${number}/`;
  return await recentContexts.get(`${prefix}${state.head}`, async () => {
    const known = await recentContexts.take(prefix);
    const extended = known && (await extendContext(contexts, conversation, known, state));
    return extended ?? (await loadContext(contexts, conversation, number, state));
  });
}

async function extendContext(
  contexts: ClientPorts['contexts'],
  conversation: ConversationRef,
  known: RecentContext,
  { head, size: { headTotal } }: Position,
): Promise<RecentContext | undefined> {
  if (head <= known.head) return head === known.head ? known : undefined;
  const added = await contexts.readLog(conversation, [{ from: known.head + 1, to: head }]);
  const [first] = added;
  const isNext = first !== undefined && isSame(first.total, addWeights(known.headTotal, first));
  if (!isNext || added.length < head - known.head) return undefined;
  const items = [...known.items, ...added.map(toItem)];
  return { ...known, head, headTotal: added.at(-1)?.total ?? headTotal, items, bytes: known.bytes + sumBytes(added) };
}

async function loadContext(
  contexts: ClientPorts['contexts'],
  conversation: ConversationRef,
  number: number,
  { head, size: { headTotal } }: Position,
): Promise<RecentContext | undefined> {
  const source = await contexts.readContext(conversation, { version: number, head });
  if (source === undefined) return undefined;
  const { version, items } = await eventLoopShare.run(buildInSlices(source));
  return { version, head, headTotal, items, bytes: sumBytes(items) };
}

export function prefixOf({ tenant, id }: ConversationRef): string {
  return `${tenant}/${id}/`;
}

function isSame(a: Weight, b: Weight): boolean {
  return a.tokens === b.tokens && a.bytes === b.bytes;
}

function toItem({ seq, message, tokens, bytes }: LogEntry): ContextItem {
  return { from: seq, to: seq, message, tokens, bytes };
}

function sumBytes(items: readonly Weight[]): number {
  return items.reduce((sum, { bytes }) => sum + bytes, 0);
}
