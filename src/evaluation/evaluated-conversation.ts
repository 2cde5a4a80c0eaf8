import { buildContext, type Context } from '../compaction/context.ts';
import { type ContextSource, rangesToRead } from '../domain/context-source.ts';
import { type ConversationState, NO_BACKOFF } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { addWeights, type LogEntry, NO_WEIGHT, type WeighedMessage } from '../domain/message.ts';
import {
  type ContextItem,
  type SeqRange,
  START_VERSION,
  type Summary,
  shownKeys,
  type Version,
  weighVersion,
} from '../domain/version.ts';
import type { ContextReader } from '../store/contexts.ts';
import type { SummaryRecord } from '../store/summaries.ts';

type Readers = Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog' | 'readSystem' | 'readOwn'>;

/** State of a conversation after its passes, without its messages. */
export interface ContextRecord extends Pick<ConversationState, 'passed' | 'backoff'> {
  readonly version: Version;
  /** Summaries by their keys. */
  readonly summaries: Readonly<Record<string, Summary>>;
}

/** A recorded conversation with its live context, as a store would hold both. */
export class EvaluatedConversation {
  readonly ref: ConversationRef = { tenant: '_', id: 'evaluated' };
  /** Summaries by the keys of their ranges. */
  readonly written = new Map<string, SummaryRecord>();
  readonly #agent: string;
  readonly #log: LogEntry[] = [];
  #record: ContextRecord = {
    version: START_VERSION,
    summaries: {},
    passed: { head: 0, turns: 0 },
    backoff: NO_BACKOFF,
  };
  #items: ContextItem[] = [];
  #turns = 0;
  #firstUserSeq: number | undefined;

  constructor(agent: string) {
    this.#agent = agent;
  }

  get head(): number {
    return this.#log.length;
  }

  get last(): LogEntry | undefined {
    return this.#log.at(-1);
  }

  get firstUserSeq(): number | undefined {
    return this.#firstUserSeq;
  }

  get state(): ConversationState {
    const { version, passed, backoff } = this.#record;
    const { number, baseTotal } = version;
    const headTotal = this.last?.total ?? NO_WEIGHT;
    return {
      agent: this.#agent,
      incarnation: this.ref.id,
      head: this.head,
      turns: this.#turns,
      openCalls: [],
      size: { version: number, weight: weighVersion(version), baseTotal, headTotal },
      passed,
      backoff,
    };
  }

  /** Appended messages are added to this list of items. A new version replaces the list. */
  get context(): Context {
    return { version: this.#record.version, head: this.head, items: this.#items };
  }

  get source(): ContextSource {
    const { version, summaries } = this.#record;
    const entries = this.#readLog(rangesToRead(version, this.head));
    return { version, head: this.head, entries, summaries: new Map(Object.entries(summaries)) };
  }

  /** Readers of this conversation, as workers read from the store. */
  get readers(): Readers {
    return {
      readConversation: async () => this.state,
      readContext: async () => this.source,
      readLog: async (_, ranges) => this.#readLog(ranges),
      readSystem: async () => undefined,
      readOwn: async () => undefined,
    };
  }

  append({ message, tokens, bytes }: WeighedMessage): void {
    const seq = this.head + 1;
    const total = addWeights(this.last?.total ?? NO_WEIGHT, { tokens, bytes });
    this.#log.push({ seq, message, tokens, bytes, total, at: 0 });
    this.#items.push({ from: seq, to: seq, message, tokens, bytes });
    if (message.role !== 'user') return;
    this.#turns += 1;
    this.#firstUserSeq ??= seq;
  }

  /** Record from which a later conversation with the same messages can continue. */
  get record(): ContextRecord {
    return this.#record;
  }

  /** Continues from the record of an earlier conversation. The messages up to `version.base` must be the same. */
  restore(record: ContextRecord): void {
    const { version } = record;
    const baseTotal = this.#log[version.base - 1]?.total ?? NO_WEIGHT;
    this.#record = { ...record, version: { ...version, baseTotal } };
    this.#items = [...buildContext(this.source).items];
  }

  endPass(backoff: ConversationState['backoff'], { isCounted }: { readonly isCounted: boolean }): void {
    const passed = isCounted ? { head: this.head, turns: this.#turns } : this.#record.passed;
    this.#record = { ...this.#record, backoff, passed };
  }

  /** @param texts summaries of this version and of other versions, by their keys */
  commit(version: Version, texts: ReadonlyMap<string, Summary>, backoff: ConversationState['backoff']): void {
    const known = this.#record.summaries;
    const summaries = Object.fromEntries(
      shownKeys(version).flatMap((key) => {
        const summary = texts.get(key) ?? known[key];
        return summary === undefined ? [] : [[key, summary] as const];
      }),
    );
    this.restore({ version, summaries, backoff, passed: { head: this.head, turns: this.#turns } });
  }

  #readLog(ranges: readonly SeqRange[]): LogEntry[] {
    return ranges.flatMap(({ from, to }) => this.#log.slice(from - 1, to));
  }
}
