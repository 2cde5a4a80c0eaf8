import { buildInSlices, contextMessages } from '../../compaction/context.ts';
import type { StepState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { START_VERSION } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { LostTurn } from './turn-guard.ts';
import type { TurnPorts } from './turn-ports.ts';

type Contexts = Pick<TurnPorts['contexts'], 'readContext' | 'readLog'>;

export interface SentContext {
  readonly version: number;
  /** True if compaction removed or shortened messages of the log. */
  readonly isCompacted: boolean;
  readonly head: number;
  readonly messages: readonly Message[];
}

/**
 * The context of one conversation during one delivery. A short context comes with the claim. Any other version is read
 * once, and messages behind it are appended.
 */
export class ContextCache {
  readonly #contexts: Contexts;
  readonly #conversation: ConversationRef;
  #cached: SentContext | undefined;

  constructor(contexts: Contexts, conversation: ConversationRef) {
    this.#contexts = contexts;
    this.#conversation = conversation;
  }

  /** @param messages the whole log so far, which came with the claim */
  adopt(messages: readonly Message[]): void {
    this.#cached = { version: START_VERSION.number, isCompacted: false, head: messages.length, messages };
  }

  append(messages: readonly Message[], state: StepState): void {
    const cached = this.#cached;
    // Replies to parallel writes may arrive out of order. Messages behind a missing reply are read from the log later.
    if (cached === undefined || cached.head + messages.length !== state.head) return;
    this.#cached = { ...cached, head: state.head, messages: [...cached.messages, ...messages] };
  }

  /** @throws LostTurn if the conversation was erased */
  async read(state: StepState): Promise<SentContext> {
    const cached = this.#cached;
    if (cached?.version !== state.size.version || cached.head > state.head) return this.#readWhole();
    if (cached.head === state.head) return cached;
    const entries = await this.#contexts.readLog(this.#conversation, [{ from: cached.head + 1, to: state.head }]);
    if (entries.length !== state.head - cached.head) return this.#readWhole();
    const messages = [...cached.messages, ...entries.map(({ message }) => message)];
    this.#cached = { ...cached, head: state.head, messages };
    return this.#cached;
  }

  async #readWhole(): Promise<SentContext> {
    const source = await this.#contexts.readContext(this.#conversation);
    if (source === undefined) throw new LostTurn('gone');
    const context = await eventLoopShare.run(buildInSlices(source));
    const { version, head } = context;
    const isCompacted = version.segments.some(({ kind }) => kind !== 'raw');
    this.#cached = { version: version.number, isCompacted, head, messages: contextMessages(context) };
    return this.#cached;
  }
}
