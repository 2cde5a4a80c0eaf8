import { buildInSlices, messagesOf } from '../../compaction/context.ts';
import type { StepState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { START_VERSION } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { LostTurn } from './ending.ts';
import type { TurnPorts } from './turn-ports.ts';

type Contexts = Pick<TurnPorts['contexts'], 'readContext' | 'readLog'>;

export interface SentContext {
  readonly version: number;
  /** True if compaction removed or shortened some messages of the log. */
  readonly isCompacted: boolean;
  readonly head: number;
  readonly messages: readonly Message[];
}

/**
 * Holds the context of one conversation during one delivery. A short context comes with the claim. Each other version of
 * the context is read once. Messages that
 * this delivery records are added to the held context. Other messages, such as the next turn's user message, are read
 * from the log.
 */
export class ContextCache {
  readonly #contexts: Contexts;
  readonly #conversation: ConversationRef;
  #cached: SentContext | undefined;

  constructor(contexts: Contexts, conversation: ConversationRef) {
    this.#contexts = contexts;
    this.#conversation = conversation;
  }

  /** Starts with the messages of a context that came with the claim. They are the whole log so far. */
  adopt(messages: readonly Message[]): void {
    this.#cached = { version: START_VERSION.number, isCompacted: false, head: messages.length, messages };
  }

  /** Adds messages that this delivery has just recorded. `state`: the conversation's state after that write. */
  append(messages: readonly Message[], state: StepState): void {
    const cached = this.#cached;
    // The replies to parallel writes may arrive out of order. If a message would leave a gap, it is read from the log
    // later.
    if (cached === undefined || cached.head + messages.length !== state.head) return;
    this.#cached = { ...cached, head: state.head, messages: [...cached.messages, ...messages] };
  }

  /**
   * Returns the context for the state's version, with all messages of the log up to the state's head.
   * @throws LostTurn if the conversation was erased
   */
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
    this.#cached = { version: version.number, isCompacted, head, messages: messagesOf(context) };
    return this.#cached;
  }
}
