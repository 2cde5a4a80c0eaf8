import type { OpenChatTurn, ShownWaitingCall, TransportMessage } from '../transport-types.ts';
import type { StreamEnd } from './next-step.ts';
import type { Outbox } from './outbox.ts';

export interface SessionState<Message extends TransportMessage> {
  readonly phase: 'loading' | 'unavailable' | 'open';
  /** Messages so far, without the answer that arrives. */
  readonly messages: readonly Message[];
  /** Cursor for the page before. */
  readonly before: string | undefined;
  readonly isLoadingEarlier: boolean;
  readonly turns: readonly OpenChatTurn[];
  readonly ends: ReadonlyMap<string, StreamEnd>;
  readonly outbox: Outbox<Message>;
  /** Decisions that this page has sent, by the name of the call. */
  readonly decided: ReadonlyMap<string, NonNullable<ShownWaitingCall['decision']>>;
  /** Turn whose answer the page reads. */
  readonly streaming: string | undefined;
  readonly isConnected: boolean;
  readonly error: Error | undefined;
}

const EMPTY: SessionState<never> = {
  phase: 'loading',
  messages: [],
  before: undefined,
  isLoadingEarlier: false,
  turns: [],
  ends: new Map(),
  outbox: [],
  decided: new Map(),
  streaming: undefined,
  isConnected: true,
  error: undefined,
};

/** State of a chat that a page subscribes to. Each change gives a new object. */
export class SessionStore<Message extends TransportMessage> {
  readonly #listeners = new Set<() => void>();
  #state: SessionState<Message> = EMPTY;

  get state(): SessionState<Message> {
    return this.#state;
  }

  set(change: Partial<SessionState<Message>>): void {
    this.#state = { ...this.#state, ...change };
    this.notify();
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits for a change, the signal or the end of the time. */
  async nextChange(left: AbortSignal, waitMs?: number): Promise<void> {
    if (left.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const stop = this.subscribe(wake);
    left.addEventListener('abort', wake);
    const timer = waitMs === undefined ? undefined : setTimeout(wake, waitMs);
    await promise;
    stop();
    left.removeEventListener('abort', wake);
    clearTimeout(timer);
  }
}
