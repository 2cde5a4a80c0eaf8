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
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { type ConversationName, readConversationName, versionNumberSchema } from '../contract/names.ts';
import { readConversationState, readKeptVersion } from './contexts.ts';
import type { ClientPorts } from './ports.ts';

export interface ReportSource {
  readonly frame: ReportFrame;
  readonly summaries: readonly { readonly segment: SummarySegment; readonly summary: Summary }[];
}

export interface InspectionPorts extends ClientPorts {
  readonly recentContexts: RecentContexts;
  readonly recentFates: RecentValues<readonly EntryFate[]>;
  readonly recentCategories: RecentValues<readonly CategorySize[]>;
  readonly recentReports: RecentValues<CompactionReport>;
  readonly recentFrames: RecentValues<ReportSource>;
  readonly recentCounts: WeakMap<ToolCall, number>;
  /** Value undefined: the message has no thinking. */
  readonly recentThinking: WeakMap<Message, SizedThinking | undefined>;
  readonly readEvidence: ReturnType<typeof keepLastEvidence>;
}

export function withRecent(ports: ClientPorts): InspectionPorts {
  return {
    ...ports,
    recentContexts: new RecentContexts(ports),
    recentFates: new RecentValues(64),
    recentCategories: new RecentValues(64),
    recentReports: new RecentValues(16),
    recentFrames: new RecentValues(16),
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

/** @param number of a kept version. Undefined: the live version @throws not_found, version_gone */
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

/** Keeps the values that were used last. Callers share a computation in progress. */
class RecentValues<Value> {
  readonly #most: number;
  readonly #kept = new Map<string, Promise<Value>>();

  constructor(most: number) {
    this.#most = most;
  }

  async get(key: string, compute: () => Promise<Value>): Promise<Value> {
    const known = this.#kept.get(key);
    const value = known ?? compute();
    this.#kept.delete(key);
    this.#kept.set(key, value);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#most && oldest !== undefined) this.#kept.delete(oldest);
    try {
      return await value;
    } catch (error) {
      if (this.#kept.get(key) === value) this.#kept.delete(key);
      throw error;
    }
  }

  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#kept.delete(key);
  }
}

interface RecentContext {
  readonly version: Version;
  readonly head: number;
  readonly headTotal: Weight;
  readonly items: readonly ContextItem[];
  readonly bytes: number;
}

type Position = Pick<ConversationState, 'incarnation' | 'head' | 'size'>;

const MAX_CONTEXTS = 16;
/** A context of 10,000 messages has about 15 MB. */
const MAX_BYTES = 64_000_000;

/** Keeps contexts that were read. If the log has grown since, only its new entries are read. */
class RecentContexts {
  readonly #ports: Pick<ClientPorts, 'contexts'>;
  /** The context that was read last comes last. */
  readonly #kept = new Map<string, RecentContext>();
  readonly #reading = new Map<string, Promise<RecentContext | undefined>>();
  #bytes = 0;

  constructor(ports: Pick<ClientPorts, 'contexts'>) {
    this.#ports = ports;
  }

  async read(conversation: ConversationRef, state: Position, version: number): Promise<RecentContext | undefined> {
    const key = `${prefixOf(conversation)}${state.incarnation}/${version}`;
    const readKey = `${key}/${state.head}`;
    const shared = this.#reading.get(readKey);
    if (shared !== undefined) return await shared;
    const reading = this.#extendOrLoad(conversation, version, { state, known: this.#kept.get(key) });
    this.#reading.set(readKey, reading);
    try {
      const context = await reading;
      // An erase removes the read from `#reading`. A context that was read during the erase is not kept.
      if (this.#reading.get(readKey) === reading) this.#keep(key, context);
      return context;
    } finally {
      if (this.#reading.get(readKey) === reading) this.#reading.delete(readKey);
    }
  }

  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#drop(key);
    for (const key of this.#reading.keys()) if (key.startsWith(prefix)) this.#reading.delete(key);
  }

  async #extendOrLoad(
    conversation: ConversationRef,
    version: number,
    { state, known }: { readonly state: Position; readonly known: RecentContext | undefined },
  ): Promise<RecentContext | undefined> {
    const extended = known && (await this.#extend(conversation, known, state));
    return extended ?? (await this.#load(conversation, version, state));
  }

  async #extend(
    conversation: ConversationRef,
    known: RecentContext,
    { head, size: { headTotal } }: Position,
  ): Promise<RecentContext | undefined> {
    if (head < known.head) return undefined;
    if (head === known.head) return known;
    const added = await this.#ports.contexts.readLog(conversation, [{ from: known.head + 1, to: head }]);
    const [first] = added;
    const isNext = first !== undefined && isSame(first.total, addWeights(known.headTotal, first));
    if (!isNext || added.length < head - known.head) return undefined;
    const items = [...known.items, ...added.map(toItem)];
    return { ...known, head, headTotal: added.at(-1)?.total ?? headTotal, items, bytes: known.bytes + sumBytes(added) };
  }

  async #load(
    conversation: ConversationRef,
    number: number,
    { head, size: { headTotal } }: Position,
  ): Promise<RecentContext | undefined> {
    const source = await this.#ports.contexts.readContext(conversation, { version: number, head });
    if (source === undefined) return undefined;
    const { version, items } = await eventLoopShare.run(buildInSlices(source));
    return { version, head, headTotal, items, bytes: sumBytes(items) };
  }

  #keep(key: string, context: RecentContext | undefined): void {
    this.#drop(key);
    if (context === undefined || context.bytes > MAX_BYTES) return;
    this.#kept.set(key, context);
    this.#bytes += context.bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_CONTEXTS && this.#bytes <= MAX_BYTES) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
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
