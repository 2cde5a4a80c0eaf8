import { buildInSlices } from '../domain/context.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { addWeights, type LogEntry, type Weight } from '../domain/message.ts';
import type { ContextItem, Version } from '../domain/version.ts';
import { eventLoopShare } from '../tokens/event-loop-share.ts';
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

const MAX_CONTEXTS = 16;
/** Maximum bytes of all messages in kept contexts. A context of 10,000 messages has about 15 MB. */
const MAX_BYTES = 64_000_000;

/**
 * Keeps the contexts that were read last, because a person asks about the same context many times. If the log has grown
 * since, only the new entries are read.
 */
export class RecentContexts {
  readonly #ports: Pick<ClientPorts, 'contexts'>;
  /** By tenant, conversation and version. The context that was read last is at the end. */
  readonly #kept = new Map<string, RecentContext>();
  #bytes = 0;

  constructor(ports: Pick<ClientPorts, 'contexts'>) {
    this.#ports = ports;
  }

  /**
   * Reads the context of a version for the log up to the head of `state`.
   * @returns undefined if the version or the conversation is gone
   */
  async read(
    conversation: ConversationRef,
    state: Pick<ConversationState, 'head' | 'size'>,
    version: number,
  ): Promise<RecentContext | undefined> {
    const key = `${conversation.tenant}/${conversation.id}/${version}`;
    const known = this.#kept.get(key);
    const context =
      (known && (await this.#extend(conversation, known, state))) ?? (await this.#load(conversation, version, state));
    this.#forget(key);
    if (context !== undefined) this.#keep(key, context);
    return context;
  }

  /** Adds the entries appended since the last read. @returns undefined if the id belongs to another conversation now */
  async #extend(
    conversation: ConversationRef,
    known: RecentContext,
    { head, size: { headTotal } }: Pick<ConversationState, 'head' | 'size'>,
  ): Promise<RecentContext | undefined> {
    if (head < known.head) return undefined;
    if (head === known.head) return isSame(headTotal, known.headTotal) ? known : undefined;
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
    { head, size: { headTotal } }: Pick<ConversationState, 'head' | 'size'>,
  ): Promise<RecentContext | undefined> {
    const source = await this.#ports.contexts.readContext(conversation, { version: number, head });
    if (source === undefined) return undefined;
    const { version, items } = await eventLoopShare.run(buildInSlices(source));
    return { version, head, headTotal, items, bytes: sumBytes(items) };
  }

  #keep(key: string, context: RecentContext): void {
    if (context.bytes > MAX_BYTES) return;
    this.#kept.set(key, context);
    this.#bytes += context.bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_CONTEXTS && this.#bytes <= MAX_BYTES) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
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
