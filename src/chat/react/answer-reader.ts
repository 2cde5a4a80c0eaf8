import type { DurableTransport, ReconnectOptions, SendOptions, TransportMessage } from '../transport-types.ts';
import type { ChatHandle } from './durable-chat.ts';

/** How a stream ended. */
export interface ReadEnd<Message> {
  /**
   * `settled`: with its turn. `waiting`: the turn waits for answers. `nothing`: no turn is open. `refused`: the server
   * refused, or the stream broke off.
   */
  readonly kind: 'settled' | 'waiting' | 'nothing' | 'refused';
  /** Turn of the stream. Absent if no chunk came. */
  readonly turn?: string | undefined;
  /** True if the turn was completed, so that the stream has its whole answer. */
  readonly isCompleted: boolean;
  readonly answer?: Message | undefined;
  readonly error?: Error | undefined;
}

interface SeenChunk {
  readonly type: string;
  readonly messageId?: string;
  readonly finishReason?: string;
  readonly messageMetadata?: { readonly failed?: unknown };
}

const NO_END = { kind: 'refused', isCompleted: false } as const;

/**
 * Reads one answer at a time with `useChat`, which holds only the question and its answer. So a stream of any version of
 * the AI SDK begins with an empty answer, and cannot double a text.
 */
export class AnswerReader<Message extends TransportMessage> {
  readonly #transport: DurableTransport<Message>;
  #chat: ChatHandle<Message> | undefined;
  #end: Omit<ReadEnd<Message>, 'answer'> = NO_END;
  #hasFailed = false;
  #left: AbortSignal | undefined;
  #reading = new AbortController();
  #asked: string | undefined;

  constructor(transport: DurableTransport<Message>) {
    this.#transport = transport;
  }

  attach(chat: ChatHandle<Message>): void {
    this.#chat = chat;
  }

  /** Turn of the stream that is read. */
  get turn(): string | undefined {
    return this.#end.turn;
  }

  /** @param left aborts when the page leaves the chat. AI SDK 5 and 6 then do not end their streams. */
  open(left: AbortSignal): void {
    this.#left = left;
  }

  /** Ends the stream that is read. Its turn goes on. */
  leaveStream(): void {
    this.#reading.abort();
  }

  /** The transport for `useChat`. */
  readonly transport = {
    resumeStreamIsReplay: true,
    sendMessages: async (options: SendOptions): Promise<ReadableStream<never>> => {
      const abortSignal = this.#untilLeft(options.abortSignal);
      return this.#observe(await this.#noteRefusal(this.#transport.sendMessages({ ...options, abortSignal })));
    },
    reconnectToStream: async (options: ReconnectOptions): Promise<ReadableStream<never> | null> => {
      const abortSignal = this.#untilLeft(options.abortSignal);
      const stream = await this.#noteRefusal(
        this.#transport.reconnectToStream({ ...options, turn: this.#asked, abortSignal }),
      );
      if (stream !== null) return this.#observe(stream);
      this.#end = { kind: 'nothing', isCompleted: false };
      return null;
    },
  };

  /** Reads a turn from its start. */
  async resume(turn: string, question: Message | undefined): Promise<ReadEnd<Message>> {
    this.#asked = turn;
    return await this.#read(question === undefined ? [] : [question], async (chat) => await chat.resumeStream());
  }

  async regenerate(question: Message, answer: string): Promise<ReadEnd<Message>> {
    const old = { id: answer, role: 'assistant', parts: [] } as unknown as Message;
    return await this.#read([question, old], async (chat) => await chat.regenerate({ messageId: answer }));
  }

  /** Sends a changed question under its id. */
  async edit(question: Message): Promise<ReadEnd<Message>> {
    const { id: messageId, parts } = question;
    return await this.#read(
      [question],
      async (chat) => await chat.sendMessage({ role: 'user', parts, messageId } as never),
    );
  }

  async #read(
    messages: readonly Message[],
    read: (chat: ChatHandle<Message>) => Promise<void>,
  ): Promise<ReadEnd<Message>> {
    const chat = this.#chat;
    this.#end = NO_END;
    if (chat === undefined) return NO_END;
    this.#hasFailed = false;
    this.#reading = new AbortController();
    chat.setMessages([...messages]);
    await read(chat).catch(() => undefined);
    let last: Message | undefined;
    chat.setMessages((shown) => {
      last = shown.at(-1);
      return shown;
    });
    const end = this.#end;
    return { ...end, ...(last?.role === 'assistant' && last.id === end.turn && { answer: last }) };
  }

  #untilLeft(given: AbortSignal | undefined): AbortSignal {
    const signals = [given, this.#left, this.#reading.signal].filter((signal) => signal !== undefined);
    return AbortSignal.any(signals);
  }

  async #noteRefusal<Value>(request: Promise<Value>): Promise<Value> {
    return await request.catch((error: unknown) => {
      this.#end = { ...NO_END, error: error instanceof Error ? error : new Error(String(error)) };
      throw error;
    });
  }

  #observe(stream: ReadableStream<never>): ReadableStream<never> {
    const observed = new TransformStream<never, never>({
      transform: (chunk, controller) => {
        this.#see(chunk);
        controller.enqueue(chunk);
      },
    });
    return stream.pipeThrough(observed);
  }

  #see({ type, messageId, finishReason, messageMetadata }: SeenChunk): void {
    const { turn } = this.#end;
    if (messageMetadata?.failed !== undefined) this.#hasFailed = true;
    if (type === 'start') this.#end = { ...NO_END, turn: messageId };
    else if (type === 'abort') this.#end = { kind: 'settled', isCompleted: false, turn };
    // `useChat` reads no chunk behind an error. Only a failed turn has its metadata before.
    else if (type === 'error') this.#end = { kind: this.#hasFailed ? 'settled' : 'refused', isCompleted: false, turn };
    else if (type === 'finish') {
      const isWaiting = finishReason === 'tool-calls' || finishReason === 'other';
      this.#end = { kind: isWaiting ? 'waiting' : 'settled', isCompleted: finishReason !== 'error', turn };
    }
  }
}
