import { buildContext, type Context, type ContextItem } from '../domain/context.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { type LogEntry, NO_WEIGHT, type WeighedMessage } from '../domain/message.ts';
import type { Store } from '../domain/ports/store.ts';
import { START_VERSION, type Summary, shownKeys, type Version, weighVersion } from '../domain/version.ts';
import { toConversationState } from '../memory-store/conversation-state.ts';
import { type MemoryConversation, MemoryDatabase } from '../memory-store/database.ts';
import { openMemoryStore } from '../memory-store/open-memory-store.ts';

/** The results of the compaction passes of a conversation, without its messages. */
export interface ContextRecord extends Pick<ConversationState, 'passed' | 'backoff'> {
  readonly version: Version;
  /** Summaries that the version shows, by their keys. */
  readonly summaries: Readonly<Record<string, Summary>>;
}

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

  /** Returns what the passes so far have left. A later conversation with the same messages can continue from there. */
  get record(): ContextRecord {
    const { passed, backoff, summaries } = this.#record;
    const { version } = this.context;
    const shown = shownKeys(version).flatMap((key) => {
      const summary = summaries.get(key);
      return summary === undefined ? [] : [[key, summary] as const];
    });
    return { version, summaries: Object.fromEntries(shown), passed, backoff };
  }

  /** Continues from the record of an earlier conversation, whose messages up to `version.base` were the same. */
  async restore({ version, summaries, passed, backoff }: ContextRecord): Promise<void> {
    const baseTotal = this.#record.log[version.base - 1]?.total ?? NO_WEIGHT;
    if (version.number > 0) this.#record.versions.set(version.number, { ...version, baseTotal });
    for (const [key, summary] of Object.entries(summaries)) this.#record.summaries.set(key, summary);
    const { number, base } = version;
    Object.assign(this.#record, { version: number, weight: weighVersion(version), base, baseTotal, passed, backoff });
    await this.refresh();
  }

  /** Builds the context again after a compaction pass has committed a new version. */
  async refresh(): Promise<void> {
    const source = await this.store.readContext(this.ref);
    if (source !== undefined) this.#items = [...buildContext(source).items];
  }
}
