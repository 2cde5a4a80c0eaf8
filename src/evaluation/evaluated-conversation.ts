import { buildContext, type Context, type ContextItem } from '../domain/context.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { LogEntry, WeighedMessage } from '../domain/message.ts';
import type { Store } from '../domain/ports/store.ts';
import { START_VERSION } from '../domain/version.ts';
import { toConversationState } from '../memory-store/conversation-state.ts';
import { type MemoryConversation, MemoryDatabase } from '../memory-store/database.ts';
import { openMemoryStore } from '../memory-store/open-memory-store.ts';

/**
 * A recorded conversation in a memory store, with its live context. Each appended message also becomes an item of the
 * context.
 */
export class EvaluatedConversation {
  readonly ref: ConversationRef = { tenant: '_', id: 'evaluated' };
  readonly store: Store;
  readonly #record: MemoryConversation;
  #items: ContextItem[] = [];
  #firstUserSeq: number | undefined;

  constructor(agent: string) {
    // The store does not copy values, because no code here changes a message. With copies of every context, a replay
    // took twice as long.
    const database = new MemoryDatabase(undefined, (value) => value);
    this.store = openMemoryStore(database);
    this.#record = database.open(this.ref, agent);
  }

  get head(): number {
    return this.#record.log.length;
  }

  get last(): LogEntry | undefined {
    return this.#record.log.at(-1);
  }

  get firstUserSeq(): number | undefined {
    return this.#firstUserSeq;
  }

  get state(): ConversationState {
    return toConversationState(this.#record);
  }

  /** The live context. Appended messages are added to its list of items. `refresh` replaces the list. */
  get context(): Context {
    const { version, versions } = this.#record;
    return { version: versions.get(version) ?? START_VERSION, head: this.head, items: this.#items };
  }

  async append(weighed: WeighedMessage): Promise<void> {
    const seq = this.head + 1;
    const { message, tokens, bytes } = weighed;
    await this.store.append({
      conversation: this.ref,
      operation: `append-${seq}`,
      agent: this.#record.agent,
      expectedHead: seq - 1,
      messages: [weighed],
      opens: [],
      closes: [],
    });
    this.#items.push({ from: seq, to: seq, message, tokens, bytes });
    if (message.role === 'user') this.#firstUserSeq ??= seq;
  }

  /** Builds the context again after a compaction pass has committed a new version. */
  async refresh(): Promise<void> {
    const source = await this.store.readContext(this.ref);
    if (source !== undefined) this.#items = [...buildContext(source).items];
  }
}
