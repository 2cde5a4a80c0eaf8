import { buildInSlices } from '../../compaction/context.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { addWeights, type LogEntry, type Weight } from '../../domain/message.ts';
import type { ContextItem, Version } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { ClientPorts } from './ports.ts';

/** A context with the sizes of its items. The object never changes, so caches may use the object as their key. */
export interface RecentContext {
  readonly version: Version;
  /** Position (seq) of the last log entry in the context. */
  readonly head: number;
  /** Size of the log up to `head`. */
  readonly headTotal: Weight;
  readonly items: readonly ContextItem[];
  /** Bytes of all items. */
  readonly bytes: number;
}

type Position = Pick<ConversationState, 'incarnation' | 'head' | 'size'>;

const MAX_CONTEXTS = 16;
/** Maximum bytes of all messages in kept contexts. A context of 10,000 messages has about 15 MB. */
const MAX_BYTES = 64_000_000;

/**
 * Keeps the contexts that were read last, because a person asks about the same context many times. If the log has grown
 * since, only the new entries are read.
 */
export class RecentContexts {
  readonly #ports: Pick<ClientPorts, 'contexts'>;
  /** By tenant, id and incarnation of the conversation, and version. The context that was read last is at the end. */
  readonly #kept = new Map<string, RecentContext>();
  /** Reads in flight, by the key of the context and the last seq. */
  readonly #reading = new Map<string, Promise<RecentContext | undefined>>();
  #bytes = 0;

  constructor(ports: Pick<ClientPorts, 'contexts'>) {
    this.#ports = ports;
  }

  /**
   * Reads the context of a version for the log up to the head of `state`. Callers that ask at the same time share one
   * read.
   * @returns undefined if the version or the conversation is gone
   */
  async read(conversation: ConversationRef, state: Position, version: number): Promise<RecentContext | undefined> {
    const key = `${prefixOf(conversation)}${state.incarnation}/${version}`;
    const readKey = `${key}/${state.head}`;
    const shared = this.#reading.get(readKey);
    if (shared !== undefined) return await shared;
    const reading = this.#extendOrLoad(conversation, version, { state, known: this.#kept.get(key) });
    this.#reading.set(readKey, reading);
    try {
      const context = await reading;
      // Otherwise the conversation was erased during the read.
      if (this.#reading.get(readKey) === reading) this.#keep(key, context);
      return context;
    } finally {
      if (this.#reading.get(readKey) === reading) this.#reading.delete(readKey);
    }
  }

  /** Forgets the contexts of the conversation with this prefix (see `prefixOf`). Reads in flight are not kept. */
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

  /** Adds the entries appended since the last read. @returns undefined if the id belongs to another conversation now */
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

/** Prefix of the keys of a conversation in the caches of a client. */
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
