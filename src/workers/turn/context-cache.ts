import { buildInSlices, messagesOf } from '../../domain/context.ts';
import type { StepState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { LostTurn } from './lost-turn.ts';
import type { TurnPorts } from './turn-ports.ts';

type Contexts = Pick<TurnPorts['contexts'], 'readContext' | 'readLog'>;

export interface SentContext {
  readonly version: number;
  /** it is shorter than its log, or says less */
  readonly isCompacted: boolean;
  readonly head: number;
  readonly messages: readonly Message[];
}

/**
 * The context of one conversation over one delivery. Read once per version; what the delivery records itself is added
 * here, and what it did not see (the next turn's user message) is read from the log.
 */
export class ContextCache {
  readonly #contexts: Contexts;
  readonly #conversation: ConversationRef;
  #cached: SentContext | undefined;

  constructor(contexts: Contexts, conversation: ConversationRef) {
    this.#contexts = contexts;
    this.#conversation = conversation;
  }

  /** Adds messages that were just recorded. `state`: the conversation as that write left it. */
  append(messages: readonly Message[], state: StepState): void {
    const cached = this.#cached;
    // Parallel records can be answered out of order; what does not join on is read from the log when it is needed.
    if (cached === undefined || cached.head + messages.length !== state.head) return;
    this.#cached = { ...cached, head: state.head, messages: [...cached.messages, ...messages] };
  }

  /** @throws LostTurn where the conversation is gone */
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
