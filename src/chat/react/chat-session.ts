import { ChatError } from '../chat-error.ts';
import { createDurableTransport } from '../durable-transport.ts';
import type {
  ChatNews,
  DurableTransport,
  DurableTransportOptions,
  OpenChatTurn,
  TransportMessage,
} from '../transport-types.ts';
import { listenForWakeUps } from '../wake-ups.ts';
import { AnswerReader, type ReadEnd } from './answer-reader.ts';
import { followVisible } from './follow-visible.ts';
import { findNextStep, listPageCalls, type PageCall } from './next-step.ts';
import { dropAccepted, noteListed } from './outbox.ts';
import { SessionStore } from './session-state.ts';
import { findQuestionId, mergeNewest, putAnswer, putQuestion, writeQuestion } from './shown-messages.ts';

/** The server and the page may see a turn that begins or ends at different moments. */
const AGAIN_MS = 500;

export interface ChatSessionOptions extends DurableTransportOptions {
  /** Runs a call in the page. The page answers it with `answer`. */
  readonly onToolCall?: (options: { readonly toolCall: PageCall }) => unknown;
}

/** A chat in a page: loads its messages, reads one answer after the other, and follows what other pages do. */
export class ChatSession<Message extends TransportMessage> {
  readonly id: string;
  readonly store = new SessionStore<Message>();
  readonly transport: DurableTransport<Message>;
  readonly reader: AnswerReader<Message>;
  readonly #pageSize: number;
  readonly #loadedFor = new Set<string>();
  #orders: (() => Promise<ReadEnd<Message>>)[] = [];
  readonly #onToolCall: ChatSessionOptions['onToolCall'];
  /** Calls that the page has run, by turn. */
  readonly #called = new Set<string>();
  #isStale = true;
  #news = 0;
  #left = new AbortController();
  /** Signal of the visit that follows the chat. Undefined while no news come. */
  #following: AbortSignal | undefined;
  /** Position behind the news so far. */
  #after: string | undefined;
  /** Error of the last refused load or stream of news. */
  #refusal: Error | undefined;

  constructor(id: string, { onToolCall, ...options }: ChatSessionOptions, pageSize: number) {
    this.id = id;
    this.#pageSize = pageSize;
    this.#onToolCall = onToolCall;
    const onConnection = (isConnected: boolean): void => this.store.set({ isConnected });
    this.transport = createDurableTransport<Message>({ ...options, onConnection });
    this.reader = new AnswerReader(this.transport);
  }

  /** True once the page shows another chat, or none. */
  get hasLeft(): boolean {
    return this.#left.signal.aborted;
  }

  /** @returns a function that ends all streams of the chat */
  open(): () => void {
    const left = new AbortController();
    this.#left = left;
    this.#isStale = true;
    this.reader.open(left.signal);
    void this.#run(left.signal);
    const stop = listenForWakeUps(() => {
      if (this.store.state.phase !== 'loading') this.catchUp();
    });
    return () => {
      stop();
      left.abort();
      this.transport.close();
      this.store.set({ streaming: undefined });
    };
  }

  /** Loads the newest messages as soon as no stream is read. */
  refresh(): void {
    this.#isStale = true;
    this.store.notify();
  }

  /** Loads and follows the chat again if the server has refused to send news. */
  catchUp(): void {
    if (this.#following !== undefined) return;
    // A load waits until no stream is read, which may take long.
    if (this.#after !== undefined && !this.hasLeft) void this.#follow(this.#after, this.#left.signal);
    this.refresh();
  }

  /** Reads an answer that the page has asked for, e.g. a further attempt, as soon as no other stream is read. */
  read(order: () => Promise<ReadEnd<Message>>): void {
    this.#orders.push(order);
    this.store.notify();
  }

  /** Reads a turn again whose wait has ended. */
  resumeTurn(turn: string): void {
    const ends = new Map(this.store.state.ends);
    ends.delete(turn);
    this.store.set({ ends });
  }

  async #run(left: AbortSignal): Promise<void> {
    while (!left.aborted) {
      const order = this.#orders.shift();
      if (order !== undefined) {
        await this.#take(await this.#stream('', order), left);
        // The page took messages away before the order, and the server may have kept them.
        this.#isStale = true;
        continue;
      }
      const { state } = this.store;
      const step = findNextStep({
        ...state,
        isStale: this.#isStale,
        loadedFor: this.#loadedFor,
        news: this.#news,
      });
      if (step.kind === 'rest') this.#runCalls();
      if (step.kind === 'rest' || (state.phase === 'unavailable' && !this.#isStale)) await this.store.nextChange(left);
      else if (step.kind === 'stream') await this.#take(await this.#readTurn(step.turn), left);
      else {
        if (step.turn !== undefined) this.#loadedFor.add(step.turn);
        const after = await this.#load(left);
        if (after !== undefined && this.#following !== left) void this.#follow(after, left);
      }
    }
  }

  /** @returns position for the news. Undefined: the server refused, or the page has left */
  async #load(left: AbortSignal): Promise<string | undefined> {
    this.#isStale = false;
    const { outbox: sent } = this.store.state;
    const news = this.#news;
    try {
      const page = await this.transport.loadMessages({ chatId: this.id, limit: this.#pageSize, signal: left });
      const { state } = this.store;
      const merged = mergeNewest(state, page, page.turns);
      const { messages, before } = merged;
      const turns = news === this.#news ? page.turns : state.turns;
      const outbox = noteListed(dropAccepted(state.outbox, sent), page.turns);
      this.store.set({ phase: 'open', messages, before, turns, outbox, ends: pruneEnds(state.ends, turns) });
      this.#after = page.after;
      return page.after;
    } catch (error) {
      if (left.aborted) return undefined;
      this.#showRefusal(error);
      if (this.store.state.phase !== 'open') this.store.set({ phase: 'unavailable' });
      return undefined;
    }
  }

  #showRefusal(error: unknown): void {
    this.#refusal = toError(error);
    this.store.set({ error: this.#refusal });
  }

  async #follow(after: string, left: AbortSignal): Promise<void> {
    this.#following = left;
    try {
      for await (const news of followVisible(this.transport, { chatId: this.id, after, left })) this.#takeNews(news);
    } catch (error) {
      if (!left.aborted) this.#showRefusal(error);
    }
    // The next load follows again, e.g. after `reload`.
    if (this.#following === left) this.#following = undefined;
  }

  #takeNews(news: ChatNews): void {
    const { state } = this.store;
    if (news.type === 'turns') {
      this.#news += 1;
      const { turns } = news;
      const outbox = noteListed(state.outbox, turns);
      const isOver = state.error !== undefined && state.error === this.#refusal;
      return this.store.set({ turns, outbox, ends: pruneEnds(state.ends, turns), ...(isOver && { error: undefined }) });
    }
    if (news.type === 'lost') return this.refresh();
    this.#after = news.event.id;
    const { type, turn = '', cause } = news.event as ChatEvent;
    const isRead = state.streaming !== undefined && turn === (this.reader.turn ?? state.streaming);
    const isUnread = type === 'turn_settled' && !isRead && state.ends.get(turn)?.kind !== 'settled';
    if (isUnread || (type === 'version_committed' && cause === 'rollback')) this.refresh();
  }

  async #readTurn({ turn, messageId, text }: OpenChatTurn): Promise<ReadEnd<Message>> {
    const { messages, outbox } = this.store.state;
    const question =
      messages.find(({ id }) => id === messageId) ??
      outbox.find(({ message }) => message.id === messageId)?.message ??
      (text === undefined ? undefined : writeQuestion<Message>(messageId, text));
    if (question !== undefined) this.store.set({ messages: putQuestion(messages, question) });
    return await this.#stream(turn, async () => await this.reader.resume(turn, question));
  }

  async #stream(turn: string, read: () => Promise<ReadEnd<Message>>): Promise<ReadEnd<Message>> {
    this.store.set({ streaming: turn });
    const end = await read();
    // Messages between the two turns may be missing.
    if (turn !== '' && end.turn !== undefined && end.turn !== turn) this.#isStale = true;
    return { ...end, turn: end.turn ?? turn };
  }

  async #take({ kind, turn = '', isCompleted, answer, error }: ReadEnd<Message>, left: AbortSignal): Promise<void> {
    if (left.aborted) return;
    const { messages, turns, ends, decided } = this.store.state;
    const shown = answer === undefined ? messages : putAnswer(messages, answer, findQuestionId(turn, turns));
    const ended = kind === 'nothing' ? ends : new Map([...ends, [turn, { kind, news: this.#news }]]);
    this.store.set({
      streaming: undefined,
      messages: shown,
      ends: ended,
      decided: kind === 'settled' ? new Map() : decided,
      ...(error && { error }),
    });
    // The log decides what an answer shows that was not completed.
    if (kind !== 'waiting' && !isCompleted) this.#isStale = true;
    if (kind === 'waiting') this.catchUp();
    if (kind === 'nothing') await this.store.nextChange(left, AGAIN_MS);
  }

  /** A call that this page has run is not run again, although its answer was refused. */
  #runCalls(): void {
    if (this.#onToolCall === undefined) return;
    const { turn, calls } = listPageCalls(this.store.state);
    for (const toolCall of calls) {
      const name = `${turn}/${toolCall.toolCallId}`;
      if (this.#called.has(name)) continue;
      this.#called.add(name);
      void this.#runCall(toolCall);
    }
  }

  async #runCall(toolCall: PageCall): Promise<void> {
    try {
      await this.#onToolCall?.({ toolCall });
    } catch (error) {
      this.store.set({ error: toError(error) });
    }
  }
}

interface ChatEvent {
  readonly type: string;
  readonly turn?: string;
  readonly cause?: string;
}

function pruneEnds<End>(ends: ReadonlyMap<string, End>, turns: readonly OpenChatTurn[]): ReadonlyMap<string, End> {
  if (ends.size === 0) return ends;
  const open = new Set(turns.map(({ turn }) => turn));
  return new Map([...ends].filter(([turn]) => open.has(turn)));
}

export function toError(error: unknown): Error {
  return error instanceof ChatError || error instanceof Error ? error : new Error(String(error));
}
