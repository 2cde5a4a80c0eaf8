import { readFrames } from '../api/http-client/event-frames.ts';
import { ChatError } from './chat-error.ts';
import { type ChatCall, ChatRequests } from './chat-requests.ts';
import { chooseSent } from './sent-messages.ts';
import type {
  AcceptOptions,
  AnswerCallsOptions,
  ChatHistory,
  ChatNews,
  DurableTransport,
  DurableTransportOptions,
  FollowChatOptions,
  LoadOptions,
  ReconnectOptions,
  SendOptions,
  StopOptions,
  TransportMessage,
} from './transport-types.ts';

/** Creates a transport for `useChat`. One transport serves any number of chats. */
export function createDurableTransport<Message extends TransportMessage = TransportMessage>(
  options: DurableTransportOptions = {},
): DurableTransport<Message> {
  return new Transport<Message>(options);
}

type CallAfter = (position: string | undefined) => ChatCall;

class Transport<Message extends TransportMessage> implements DurableTransport<Message> {
  readonly resumeStreamIsReplay = true;
  readonly #requests: ChatRequests;
  /** Last answer to each user message, by chat and message. */
  readonly #answers = new Map<string, string>();
  #closing = new AbortController();
  /** Ends the streams of one chat. */
  readonly #leaving = new Map<string, AbortController>();

  constructor(options: DurableTransportOptions) {
    this.#requests = new ChatRequests(options);
    // `useChat` calls some methods without their object.
    this.sendMessages = this.sendMessages.bind(this);
    this.reconnectToStream = this.reconnectToStream.bind(this);
  }

  get isConnected(): boolean {
    return this.#requests.isConnected;
  }

  async sendMessages(options: SendOptions): Promise<ReadableStream<never>> {
    const { trigger, chatId: id, messages, headers, abortSignal } = options;
    this.#noteAnswers(id, messages);
    const messageId = await this.#nameRegenerated(options);
    const sent = chooseSent({ messages, messageId, trigger });
    const body = { ...options.body, id, messages: sent, trigger, messageId };
    const callAfter: CallAfter = (after) => ({ method: 'POST', path: '', headers, body: { ...body, after } });
    const stream = await this.#openStream(id, callAfter, abortSignal);
    if (stream === null) throw new ChatError(204, { detail: 'the server did not answer the message' });
    return stream;
  }

  async reconnectToStream(options: ReconnectOptions): Promise<ReadableStream<never> | null> {
    const { chatId, turn, headers, abortSignal } = options;
    const path = `${pathOf(chatId)}/stream`;
    const callAfter: CallAfter = (after) => ({ method: 'GET', path, query: { after, turn }, headers });
    return await this.#openStream(chatId, callAfter, abortSignal);
  }

  async loadMessages({ chatId, before, limit, signal }: LoadOptions): Promise<ChatHistory<Message>> {
    const call = { method: 'GET', path: `${pathOf(chatId)}/messages`, query: { before, limit } } as const;
    const history = await this.#requests.send<ChatHistory<Message>>({ ...call, signal });
    this.#noteAnswers(chatId, history.messages);
    return history;
  }

  async acceptMessage(options: AcceptOptions): Promise<{ readonly turn: string }> {
    const { chatId, message, onBusy, replaces, signal } = options;
    const body = { message, onBusy, replaces };
    return await this.#requests.send({ method: 'POST', path: `${pathOf(chatId)}/messages`, body, signal });
  }

  async answerCalls({ chatId, answers, signal }: AnswerCallsOptions) {
    const call = { method: 'POST', path: `${pathOf(chatId)}/answers`, body: { answers } } as const;
    return await this.#requests.send<{ readonly status: 'answered' | 'still_waiting' }>({ ...call, signal });
  }

  async stopTurn({ chatId, messageId, signal }: StopOptions) {
    const call = { method: 'POST', path: `${pathOf(chatId)}/stop`, body: { messageId } } as const;
    return await this.#requests.send<{ readonly turn: string; readonly state: string }>({ ...call, signal });
  }

  async *follow({ chatId, after, signal }: FollowChatOptions): AsyncGenerator<ChatNews, void, void> {
    const left = new AbortController();
    const path = `${pathOf(chatId)}/live`;
    const callAfter: CallAfter = (position) => ({ method: 'GET', path, query: { after: position } });
    const blocks = readSteadily(this.#requests, {
      callAfter,
      after,
      signal: this.#signalOf(chatId, signal, left.signal),
    });
    try {
      for await (const block of blocks) {
        if (block === NOTHING_OPEN) return;
        for (const data of block) yield JSON.parse(data) as ChatNews;
      }
    } finally {
      left.abort();
    }
  }

  close(chatId?: string): void {
    const reason = new DOMException('the transport was closed', 'AbortError');
    const ended = chatId === undefined ? this.#closing : this.#leaving.get(chatId);
    ended?.abort(reason);
    if (chatId === undefined) this.#closing = new AbortController();
    else this.#leaving.delete(chatId);
  }

  async #openStream(
    chatId: string,
    callAfter: CallAfter,
    given: AbortSignal | undefined,
  ): Promise<ReadableStream<never> | null> {
    const left = new AbortController();
    const signal = this.#signalOf(chatId, given, left.signal);
    const blocks = readSteadily(this.#requests, { callAfter, signal });
    // A refusal of the first request is an error of the call, and not of the stream.
    let next = await blocks.next();
    if (next.value === NOTHING_OPEN) return null;
    const send = async (controller: ReadableStreamDefaultController<never>): Promise<void> => {
      if (next.done === true || next.value === NOTHING_OPEN) return controller.close();
      for (const data of next.value) controller.enqueue(this.#readChunk(chatId, data) as never);
      next = await blocks.next();
      if (next.done === true) controller.close();
    };
    return new ReadableStream<never>(
      {
        pull: async (controller) => {
          await send(controller).catch((error: unknown) => endWith(controller, error));
        },
        cancel: () => left.abort(),
      },
      { highWaterMark: 0 },
    );
  }

  #readChunk(chatId: string, data: string): unknown {
    const chunk = JSON.parse(data) as { readonly type: string; readonly messageId?: string };
    if (chunk.type === 'start' && chunk.messageId !== undefined) this.#noteAnswer(chatId, chunk.messageId);
    return chunk;
  }

  /**
   * `regenerate()` names no answer, so a repeated request would begin a further attempt. With the last answer's name, a
   * repeated request finds the attempt of the first.
   */
  async #nameRegenerated(options: SendOptions): Promise<string | undefined> {
    const { trigger, messageId, chatId, messages, abortSignal: signal } = options;
    const asked = messages.at(-1);
    if (trigger !== 'regenerate-message' || messageId !== undefined || asked?.role !== 'user') return messageId;
    const key = `${chatId}/${asked.id}`;
    if (!this.#answers.has(key)) await this.loadMessages({ chatId, limit: 2, signal });
    return this.#answers.get(key);
  }

  #noteAnswers(chatId: string, messages: readonly TransportMessage[]): void {
    for (const { id, role } of messages) if (role === 'assistant') this.#noteAnswer(chatId, id);
  }

  /** The id of an answer is the id of the user's message and the number of the attempt. */
  #noteAnswer(chatId: string, answer: string): void {
    const [, asked, attempt] = /^(.+)\.([1-9]\d{0,8})$/.exec(answer) ?? [];
    if (asked === undefined) return;
    const key = `${chatId}/${asked}`;
    const known = this.#answers.get(key)?.slice(asked.length + 1) ?? '0';
    if (Number(attempt) > Number(known)) this.#answers.set(key, answer);
  }

  #signalOf(chatId: string, ...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
    const leaving = this.#leaving.get(chatId) ?? new AbortController();
    this.#leaving.set(chatId, leaving);
    const given = signals.filter((signal) => signal !== undefined);
    return AbortSignal.any([...given, leaving.signal, this.#closing.signal]);
  }
}

function pathOf(chatId: string): string {
  return `/${encodeURIComponent(chatId)}`;
}

/** A refusal in the middle of a stream, e.g. because the conversation was erased, is an error that the page shows. */
function endWith(controller: ReadableStreamDefaultController<never>, error: unknown): void {
  if (!(error instanceof ChatError)) return controller.error(error);
  controller.enqueue({ type: 'error', errorText: `${error.code}: ${error.message}` } as never);
  controller.close();
}

interface SteadyStream {
  /** The request behind a position. Undefined: from the start. */
  readonly callAfter: (position: string | undefined) => ChatCall;
  /** Position of the page before the first request. */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
}

const NOTHING_OPEN = Symbol('no answer is open');

/**
 * Reads a stream of events across lost connections. The frames up to a position come together, once the position is known.
 * So a cut between them repeats nothing: the next request continues behind the last position.
 * @yields the data of frames, and first `NOTHING_OPEN` if the server has no stream
 * @throws ChatError if the server refuses, an error of the page, the signal's reason
 */
async function* readSteadily(
  requests: ChatRequests,
  { callAfter, after, signal }: SteadyStream,
): AsyncGenerator<readonly string[] | typeof NOTHING_OPEN, void, void> {
  const outage = requests.openOutage();
  let position = after;
  try {
    for (;;) {
      const connection = requests.connect(signal, outage);
      let defect: ChatError | undefined;
      try {
        const call = { ...callAfter(position), signal };
        const opened = await requests.attempt(call, connection, async (response) => response);
        if (opened.status === 'lost') defect = opened.defect;
        else if (opened.value.status === 204) return yield NOTHING_OPEN;
        else if (opened.value.body !== null) {
          for await (const block of readBlocks(opened.value.body, () => connection.hear())) {
            outage.end();
            position = block.position;
            if (block.data.length > 0) yield block.data;
            if (block.isLast) return;
          }
        }
      } finally {
        connection.close();
      }
      signal.throwIfAborted();
      await outage.wait(defect, signal);
    }
  } finally {
    outage.end();
  }
}

interface Block {
  readonly data: readonly string[];
  readonly position: string | undefined;
  readonly isLast: boolean;
}

const DONE = '[DONE]';

/** Ends without a last block if the connection breaks. */
async function* readBlocks(
  body: NonNullable<Response['body']>,
  onFrame: () => void,
): AsyncGenerator<Block, void, void> {
  let data: string[] = [];
  try {
    for await (const frame of readFrames(body)) {
      onFrame();
      if (frame.data === DONE) return yield { data, position: undefined, isLast: true };
      if (frame.data !== undefined) data.push(frame.data);
      if (frame.id === undefined) continue;
      yield { data, position: frame.id, isLast: false };
      data = [];
    }
  } catch {
    // The next request continues behind the last position.
  }
}
