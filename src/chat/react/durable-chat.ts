import type { DurableTransportOptions, OpenChatTurn, PageAnswer, TransportMessage } from '../transport-types.ts';
import type { PageCall } from './next-step.ts';
import type { NamedFile } from './outbox.ts';

/** Part of the result of `useChat` that the hook needs. The results of AI SDK 5, 6 and 7 fit. */
export interface ChatHandle<Message> {
  readonly messages: readonly Message[];
  setMessages(messages: Message[] | ((messages: Message[]) => Message[])): void;
  resumeStream(): Promise<void>;
  regenerate(options: { readonly messageId: string }): Promise<void>;
  sendMessage(message: never): Promise<void>;
}

export interface PageChatOptions {
  /**
   * Runs a call in the page, which answers it with `answer`. Each page calls it once for each call, and only while the turn
   * waits for the result. So it is called again in a page that is loaded before the call has an answer. An error that it
   * throws is the `error` of the chat.
   */
  onToolCall?(options: { readonly toolCall: PageCall }): unknown;
  readonly [option: string]: unknown;
}

export interface DurableChatOptions<Message extends TransportMessage>
  extends Omit<DurableTransportOptions, 'onConnection'> {
  /** Id of the chat, which is the id of its conversation. */
  readonly id: string;
  /** `useChat` of `@ai-sdk/react`, of AI SDK 5, 6 or 7. `sdkVersion` names the version (7). */
  readonly useChat: (options: never) => ChatHandle<Message>;
  /** Further options of `useChat`, e.g. `onData`. */
  readonly chatOptions?: PageChatOptions;
  /** Number of messages that a page of the history has (100). */
  readonly pageSize?: number;
}

/**
 * State of a chat. `loading`: its messages are not there yet. `unavailable`: the server refused to show it, and `error` has
 * the reason. `ready`: no answer is open. `queued`: the next answer has not begun. `answering`: an answer arrives.
 * `waiting`: an answer waits for decisions or results of calls.
 */
export type DurableChatStatus = 'loading' | 'unavailable' | 'ready' | 'queued' | 'answering' | 'waiting';

/**
 * State of a message without an answer. `sending`: the server may or may not have it. `queued`: it is the next turn, or a
 * later one. `steering`: it joins the running turn. `refused`: the server does not have it, and `error` has the reason.
 * `unsure`: the chat gave up with `error`, and the server may have the message. `resend` and `discard` are safe.
 */
export type QueuedState = 'sending' | 'queued' | 'steering' | 'refused' | 'unsure';

/** A message whose turn has not begun. */
export interface QueuedMessage {
  /** Id of the message. */
  readonly id: string;
  readonly text: string;
  /** Names of its files. Absent if there are none. */
  readonly files?: readonly string[];
  readonly state: QueuedState;
  /** Number of turns in front. */
  readonly position: number;
  /** True if the turn begins at a time that its caller has set. */
  readonly isScheduled: boolean;
  readonly error?: Error;
}

/** A turn that waits for answers to its calls. */
export type WaitingChatTurn = Pick<OpenChatTurn, 'turn' | 'messageId'> & NonNullable<OpenChatTurn['waiting']>;

export interface NewMessage {
  readonly text: string;
  /** Files to send, e.g. `input.files`. */
  readonly files?: Iterable<NamedFile>;
  /** `steer`: the message joins the running turn before its next model call. `enqueue` (default): it waits. */
  readonly onBusy?: 'enqueue' | 'steer';
}

export interface DurableChat<Message> {
  readonly id: string;
  readonly status: DurableChatStatus;
  /** Messages so far, oldest first, with the answer that arrives. */
  readonly messages: readonly Message[];
  /** Messages that wait, in the order of their turns. */
  readonly queue: readonly QueuedMessage[];
  /** The turn whose calls wait for answers. */
  readonly waiting: WaitingChatTurn | undefined;
  /** The open turn in front, e.g. to show that it waits for a retry. */
  readonly current: OpenChatTurn | undefined;
  /** False while the server cannot be reached. Nothing is lost, and the chat connects again by itself. */
  readonly isConnected: boolean;
  /** True if `loadEarlier` has more messages. */
  readonly hasEarlier: boolean;
  readonly isLoadingEarlier: boolean;
  /** Refusal of the last action. A refused message has its own `error`. */
  readonly error: Error | undefined;
  /** Sends a message at any time. Its text stays in the chat until the server has it or refuses it. */
  send(message: NewMessage): Promise<void>;
  /** Sends a message that is `refused` or `unsure` again, under the same id. So it arrives once. */
  resend(id: string): Promise<void>;
  /**
   * Takes a message away that is `refused` or `unsure`. If the server has an unsure message, its turn is canceled.
   * @returns the text of a refused message or edit, e.g. to edit it
   */
  discard(id: string): string;
  /** Cancels the turn of a message that waits. */
  remove(id: string): Promise<void>;
  /** Lets a message that waits join the running turn instead. */
  steer(id: string): Promise<void>;
  /** Cancels the running turn. Its text so far stays. */
  stop(): Promise<void>;
  /** Answers a message again, e.g. after a failure. @param id of the answer */
  retry(id: string): Promise<void>;
  /**
   * Replaces a message of the user, and answers it. Later messages leave the chat, and an answer that streams ends. If the
   * server refuses, the new text is a `refused` message of the queue under the same id.
   */
  edit(id: string, text: string): Promise<void>;
  /** Decides on a call. @param call `approvalId` or `toolCallId` */
  decide(call: string, approved: boolean, details?: { readonly reason?: string; readonly by?: string }): Promise<void>;
  /** Answers a call that the page runs. @param call `toolCallId` */
  answer(call: string, answer: PageAnswer): Promise<void>;
  loadEarlier(): Promise<void>;
  /** Loads a chat again that is unavailable. */
  reload(): void;
  clearError(): void;
}
