import { buildContext, type Context, type ContextItem, type ContextSource } from '../domain/context.ts';
import { type Backoff, type ConversationState, NO_BACKOFF } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { addWeights, type LogEntry, NO_WEIGHT, type WeighedMessage } from '../domain/message.ts';
import type { ContextReader } from '../domain/ports/context-store.ts';
import { START_VERSION, type Summary, type Version } from '../domain/version.ts';

/** A conversation in memory, as workers see one in a store: its log, its live version and what passes left behind. */
export class OfflineConversation {
  readonly ref: ConversationRef;
  readonly #entries: LogEntry[] = [];
  readonly #summaries = new Map<string, Summary>();
  #items: ContextItem[] = [];
  #version = START_VERSION;
  #firstUserSeq: number | undefined;
  #turns = 0;
  #passed = { head: 0, turns: 0 };
  #backoff = NO_BACKOFF;

  constructor(id: string) {
    this.ref = { tenant: '_', id };
  }

  get head(): number {
    return this.#entries.length;
  }

  get firstUserSeq(): number | undefined {
    return this.#firstUserSeq;
  }

  get last(): LogEntry | undefined {
    return this.#entries.at(-1);
  }

  get version(): Version {
    return this.#version;
  }

  get source(): ContextSource {
    return { version: this.#version, head: this.head, entries: this.#entries, summaries: this.#summaries };
  }

  /** As it is now: the next append adds to its items, a commit makes new ones. */
  get context(): Context {
    return { version: this.#version, head: this.head, items: this.#items };
  }

  get state(): ConversationState {
    const { number, weight, baseTotal } = this.#version;
    const headTotal = this.last?.total ?? NO_WEIGHT;
    return {
      agent: 'offline',
      head: this.head,
      turns: this.#turns,
      openCalls: [],
      size: { version: number, weight, baseTotal, headTotal },
      passed: this.#passed,
      backoff: this.#backoff,
    };
  }

  append(weighed: WeighedMessage): void {
    const seq = this.head + 1;
    const total = addWeights(this.last?.total ?? NO_WEIGHT, weighed);
    const { message, tokens, bytes } = weighed;
    this.#entries.push({ message, tokens, bytes, seq, total, at: 0 });
    this.#items.push({ from: seq, to: seq, message, tokens, bytes });
    if (message.role !== 'user') return;
    this.#turns += 1;
    this.#firstUserSeq ??= seq;
  }

  commit(version: Version, summaries: ReadonlyMap<string, Summary>): void {
    for (const [key, summary] of summaries) this.#summaries.set(key, summary);
    this.#version = version;
    this.#items = [...buildContext(this.source).items];
  }

  /** What every end of a pass leaves. */
  endPass(backoff: Backoff, isCounted: boolean): void {
    this.#backoff = backoff;
    if (isCounted) this.#passed = { head: this.head, turns: this.#turns };
  }

  /** What summarization workers read of it. */
  get reader(): Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog'> {
    return {
      readConversation: async () => this.state,
      readContext: async () => this.source,
      readLog: async (_, ranges) => ranges.flatMap(({ from, to }) => this.#entries.slice(from - 1, to)),
    };
  }
}
