/** A message as `useChat` holds it. Messages of the AI SDK 5, 6 and 7 fit, without a dependency on the package. */
export interface TransportMessage {
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly { readonly type: string }[];
  readonly metadata?: unknown;
}

export type SendTrigger = 'submit-message' | 'regenerate-message';

export type HeaderValues = Headers | Readonly<Record<string, string>>;

/** Fields that `useChat` may pass with each request. */
export interface RequestExtras {
  /** Further headers of the request. */
  readonly headers?: HeaderValues | undefined;
  /** Further fields of the request body. */
  readonly body?: object | undefined;
}

export interface SendOptions extends RequestExtras {
  readonly trigger: SendTrigger;
  readonly chatId: string;
  /** Message that is edited, answered or regenerated. Undefined for a new message. */
  readonly messageId: string | undefined;
  readonly messages: readonly TransportMessage[];
  /** Ends the stream in the page. The turn goes on: `stopTurn` cancels it. */
  readonly abortSignal: AbortSignal | undefined;
}

export interface ReconnectOptions extends RequestExtras {
  readonly chatId: string;
  /** Turn to stream, which is the id of its answer. Absent: the first open turn. */
  readonly turn?: string | undefined;
  /** Ends the stream in the page. Abort it when the page leaves the chat. */
  readonly abortSignal?: AbortSignal | undefined;
}

export interface DurableTransportOptions {
  /** Address of the chat routes (`/v1/chat`). */
  readonly api?: string;
  /** Sends requests (the global `fetch`). */
  readonly fetch?: typeof fetch;
  /**
   * Headers of each request, or a function that returns them, e.g. with a fresh token. If the function throws, the request
   * fails with its error. The TypeError of a `fetch` without a connection counts as a lost connection.
   */
  readonly headers?: HeaderValues | (() => HeaderValues | Promise<HeaderValues>);
  /** Cookies that the browser sends (`same-origin`). */
  readonly credentials?: 'omit' | 'same-origin' | 'include';
  /** Major version of the AI SDK of the page (7). */
  readonly sdkVersion?: 5 | 6 | 7;
  /** Called when the connection is lost, and when the server answers again. */
  readonly onConnection?: (isConnected: boolean) => void;
  /** Longest pause between two attempts, in ms (10,000). The first pause is 250 ms, and each pause doubles. */
  readonly maxPauseMs?: number;
  /**
   * Time without a byte after which a request is repeated or a stream opened again, in ms (40,000). The server sends one
   * every 15,000 ms to a stream. A large request has more time, for its upload.
   */
  readonly silentMs?: number;
}

/** A decision on a call, or the result of a call. */
export type PageAnswer =
  | {
      readonly approved: boolean;
      /** Reason of a denial. The model reads it. */
      readonly reason?: string;
      /** Person who decided. Shown with the decision. */
      readonly by?: string;
    }
  /** Result of a call that runs in the page, as JSON. */
  | { readonly output: unknown; readonly by?: string }
  /** The call failed in the page. */
  | { readonly errorText: string; readonly by?: string };

/** A call that waits for its answer. */
export interface ShownWaitingCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  /** Names this very call. Present for calls that need an approval. */
  readonly approvalId?: string;
  /** Absent while the call has no answer. `at` is in ms since epoch. */
  readonly decision?: { readonly approved?: boolean; readonly at: number; readonly by?: string };
}

/** An accepted turn that has not ended. */
export interface OpenChatTurn {
  /** Id of the turn, and of its answer. */
  readonly turn: string;
  /** Id of the user's message. */
  readonly messageId: string;
  readonly state: 'scheduled' | 'queued' | 'running' | 'waiting';
  /** Number of turns in front. */
  readonly position: number;
  /** Text of the user's message. Absent once a worker has begun the turn. */
  readonly text?: string;
  /** Files of the message, without their contents. Absent if there are none, or once a worker has begun the turn. */
  readonly files?: readonly { readonly mediaType: string; readonly filename?: string }[];
  /** Present while the turn waits. `until` is in ms since epoch. */
  readonly waiting?: {
    readonly for: 'tools' | 'approval' | 'compaction' | 'retry';
    readonly until: number;
    readonly calls: readonly ShownWaitingCall[];
  };
}

/** News of a chat, from any page, device or program. */
export type ChatNews =
  /** All open turns, oldest first. Sent at once, and again whenever they have changed. */
  | { readonly type: 'turns'; readonly turns: readonly OpenChatTurn[] }
  /** A durable event, e.g. `turn_settled` or `version_committed`. */
  | { readonly type: 'event'; readonly event: { readonly type: string; readonly id: string; readonly at: number } }
  /** Events may be missing. Load the messages again. */
  | { readonly type: 'lost' };

/** A page of the messages of a chat. */
export interface ChatHistory<Message> {
  readonly id: string;
  /** Oldest first, without the answer of the first open turn, which `reconnectToStream` streams. */
  readonly messages: Message[];
  /** Open turns, oldest first. Messages whose turns no worker has begun are only here. */
  readonly turns: readonly OpenChatTurn[];
  /** Cursor for the page before. Absent on the first page. */
  readonly before?: string;
  /** Position for `follow`, so that no event between the two is missing. */
  readonly after: string;
}

export interface LoadOptions {
  readonly chatId: string;
  /** Cursor of the page behind. Absent: the newest messages. */
  readonly before?: string | undefined;
  /** Maximum number of messages (100). */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface AcceptOptions {
  readonly chatId: string;
  /** The user's message. A message with this id that was accepted before begins no second turn. */
  readonly message: TransportMessage;
  /** `steer`: the message goes into the running turn before its next model call. `enqueue` (default): it waits. */
  readonly onBusy?: 'enqueue' | 'steer';
  /** Id of a message that waits. The new message gets its text and files, and its turn is canceled. */
  readonly replaces?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface AnswerCallsOptions {
  readonly chatId: string;
  /** Answers by `toolCallId`, or by `approval.id`, which also names the call after an erased conversation. */
  readonly answers: Readonly<Record<string, PageAnswer>>;
  readonly signal?: AbortSignal | undefined;
}

export interface StopOptions {
  readonly chatId: string;
  /** Id of the answer that is stopped, or of the user message that it answers. */
  readonly messageId: string;
  readonly signal?: AbortSignal | undefined;
}

export interface FollowChatOptions {
  readonly chatId: string;
  /** `after` of the loaded messages. Absent: events from now on. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A `ChatTransport` of the AI SDK. A stream never breaks: the transport connects again, and goes on behind the last chunk
 * that the page has. Requests are repeated until the server answers, each with the id of its message.
 */
export interface DurableTransport<Message extends TransportMessage = TransportMessage> {
  /** `reconnectToStream` streams an answer from its start. */
  readonly resumeStreamIsReplay: true;
  /** False while a request or a stream has no connection. */
  readonly isConnected: boolean;
  /**
   * Sends a message, answers, an edit or a regeneration, and streams the answer. Chunks are typed `never`, which fits the
   * chunks of each version.
   * @throws ChatError if the server refuses, the signal's reason
   */
  sendMessages(options: SendOptions): Promise<ReadableStream<never>>;
  /**
   * Streams a turn from its start: the first open one, or the one that `turn` names. Null: no turn is open.
   * @throws ChatError, the signal's reason
   */
  reconnectToStream(options: ReconnectOptions): Promise<ReadableStream<never> | null>;
  /** Loads messages for a page that opens the chat. @throws ChatError, the signal's reason */
  loadMessages(options: LoadOptions): Promise<ChatHistory<Message>>;
  /** Sends a message without a stream, e.g. while an answer streams. @throws ChatError, the signal's reason */
  acceptMessage(options: AcceptOptions): Promise<{ readonly turn: string }>;
  /**
   * Answers calls, whatever else the page does. A repeated answer changes nothing.
   * @throws ChatError with the code `conflict` if a call has another answer, the signal's reason
   */
  answerCalls(options: AnswerCallsOptions): Promise<{ readonly status: 'answered' | 'still_waiting' }>;
  /** Cancels the turn of a message. Its text so far stays. @throws ChatError, the signal's reason */
  stopTurn(options: StopOptions): Promise<{ readonly turn: string; readonly state: string }>;
  /** Follows a chat until the signal aborts. Connects again by itself. @throws ChatError, the signal's reason */
  follow(options: FollowChatOptions): AsyncIterable<ChatNews>;
  /**
   * Ends the streams of a chat, or without `chatId` all streams. The transport can be used again. Call it when a page leaves
   * a chat: `useChat` of AI SDK 5 and 6 goes on to read.
   */
  close(chatId?: string): void;
}
