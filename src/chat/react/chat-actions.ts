import { ChatError } from '../chat-error.ts';
import type { OpenChatTurn, PageAnswer, TransportMessage } from '../transport-types.ts';
import type { ReadEnd } from './answer-reader.ts';
import { type ChatSession, toError } from './chat-session.ts';
import type { DurableChat, NewMessage } from './durable-chat.ts';
import { findCurrent } from './next-step.ts';
import { describeRefusal, type Outgoing, putOutgoing, readFileParts } from './outbox.ts';
import { addFiles, mergeEarlier, readText, writeQuestion } from './shown-messages.ts';

export type Actions<Message> = Pick<
  DurableChat<Message>,
  | 'send'
  | 'resend'
  | 'discard'
  | 'remove'
  | 'steer'
  | 'stop'
  | 'retry'
  | 'edit'
  | 'decide'
  | 'answer'
  | 'loadEarlier'
  | 'reload'
  | 'clearError'
>;

/** Actions of a page on a chat. No action throws: a refusal is the error of the message or of the chat. */
export function createActions<Message extends TransportMessage>(session: ChatSession<Message>): Actions<Message> {
  const actions = new ChatActions(session);
  const { send, resend, discard, remove, steer, stop, retry, edit } = actions;
  const { decide, answer, loadEarlier, reload, clearError } = actions;
  return { send, resend, discard, remove, steer, stop, retry, edit, decide, answer, loadEarlier, reload, clearError };
}

class ChatActions<Message extends TransportMessage> implements Actions<Message> {
  readonly #session: ChatSession<Message>;
  /** Settles once the server has accepted or refused each message so far. */
  #posted: Promise<void> = Promise.resolve();

  constructor(session: ChatSession<Message>) {
    this.#session = session;
  }

  readonly send = async ({ text, files = [], onBusy = 'enqueue' }: NewMessage): Promise<void> => {
    await this.#post({ message: writeQuestion<Message>(newId(), text), onBusy, state: 'sending', files: [...files] });
  };

  readonly resend = async (id: string): Promise<void> => {
    const entry = this.#findUnsent(id);
    if (entry === undefined) return;
    const { error: _, ...sent } = entry;
    if (entry.isEdit === true) return this.#edit(entry.message);
    await this.#post({ ...sent, state: 'sending' });
  };

  readonly discard = (id: string): string => {
    const entry = this.#findUnsent(id);
    if (entry === undefined) return '';
    const { store } = this.#session;
    store.set({ outbox: store.state.outbox.filter((other) => other !== entry) });
    if (entry.state === 'refused' || entry.isEdit === true) return readText(entry.message);
    // The text would come twice if the page sent it again, and the server has it.
    void this.#withdraw(entry);
    return '';
  };

  readonly remove = async (id: string): Promise<void> => {
    const { store } = this.#session;
    const queued = store.state.turns.find(({ messageId }) => messageId === id);
    if (queued === undefined || (await this.#cancel(queued)) === undefined) return;
    this.#leaveQueue(queued);
  };

  /** A message joins a turn only when it is accepted, so the server takes it out of the queue, and accepts it again. */
  readonly steer = async (id: string): Promise<void> => {
    const queued = this.#session.store.state.turns.find(({ messageId }) => messageId === id);
    if (queued?.text === undefined) return;
    const known = this.#findSent(id)?.message;
    const message = { ...(known ?? writeQuestion<Message>('', queued.text)), id: newId() };
    await this.#post({ message, onBusy: 'steer', state: 'sending', replaces: id });
    if (this.#findSent(message.id)?.state === 'accepted') this.#leaveQueue(queued);
  };

  readonly stop = async (): Promise<void> => {
    const { state } = this.#session.store;
    const current = findCurrent(state);
    const sent = state.outbox.find((entry) => entry.state === 'sending' || entry.state === 'accepted')?.message.id;
    // A further attempt has its id from the start of its stream on.
    const streamed = state.streaming === '' ? this.#session.reader.turn : state.streaming;
    const messageId = current?.turn ?? streamed ?? sent;
    if (messageId !== undefined) await this.#cancel({ turn: messageId });
  };

  readonly retry = async (id: string): Promise<void> => {
    const { store, reader } = this.#session;
    const { messages } = store.state;
    const question = messages[messages.findIndex((message) => message.id === id) - 1];
    if (question?.role !== 'user') return;
    this.#answerAgain(question, async () => await reader.regenerate(question, id));
  };

  readonly edit = async (id: string, text: string): Promise<void> => {
    const old = this.#session.store.state.messages.find((message) => message.id === id);
    if (old === undefined || readText(old) === text) return;
    const files = old.parts.filter(({ type }) => type === 'file');
    this.#edit({ ...old, ...writeQuestion<Message>(id, text, files) });
  };

  readonly decide: Actions<Message>['decide'] = async (call, approved, details = {}) => {
    await this.#answer(call, { approved, ...details }, { approved, at: Date.now(), ...details });
  };

  readonly answer: Actions<Message>['answer'] = async (call, answer) => {
    await this.#answer(call, answer, { at: Date.now() });
  };

  readonly loadEarlier = async (): Promise<void> => {
    const { store, transport, id } = this.#session;
    const { before, isLoadingEarlier } = store.state;
    if (before === undefined || isLoadingEarlier) return;
    store.set({ isLoadingEarlier: true });
    try {
      store.set(mergeEarlier(store.state, await transport.loadMessages({ chatId: id, before })));
    } catch (error) {
      this.#fail(error);
    }
    store.set({ isLoadingEarlier: false });
  };

  readonly reload = (): void => {
    const { store } = this.#session;
    const { phase, ends } = store.state;
    // A stream that the server refused is tried again, too.
    const left = new Map([...ends].filter(([, { kind }]) => kind !== 'refused'));
    store.set({ error: undefined, ends: left, ...(phase === 'unavailable' && { phase: 'loading' }) });
    this.#session.refresh();
  };

  readonly clearError = (): void => this.#session.store.set({ error: undefined });

  /** Sends messages one after the other. So they arrive in their order, although a request is lost or a file is large. */
  async #post(entry: Outgoing<Message>): Promise<void> {
    this.#put(entry);
    const before = this.#posted;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#posted = promise;
    await this.#accept(entry, before);
    resolve(before);
  }

  async #accept(entry: Outgoing<Message>, before: Promise<void>): Promise<void> {
    const { transport, id: chatId } = this.#session;
    const { onBusy, replaces, files = [] } = entry;
    try {
      const message = addFiles(entry.message, await readFileParts(files));
      this.#put({ ...entry, message, files: [] });
      await before;
      const { turn } = await transport.acceptMessage({ chatId, message, onBusy, replaces });
      this.#put({ ...entry, message, files: [], state: 'accepted', turn });
      if (onBusy === 'enqueue') this.#addTurn(turn, message);
      this.#session.catchUp();
    } catch (error) {
      const state = describeRefusal(error);
      if (replaces !== undefined && state === 'refused') return this.#stayQueued(entry, error);
      this.#put({ ...entry, ...this.#findSent(entry.message.id), state, error: toError(error) });
    }
  }

  #put(entry: Outgoing<Message>): void {
    const { store } = this.#session;
    const { isListed = false } = this.#findSent(entry.message.id) ?? {};
    store.set({ outbox: putOutgoing(store.state.outbox, { ...entry, isListed }) });
  }

  /** The message still waits under its old id. */
  #stayQueued({ message: { id } }: Outgoing<Message>, error: unknown): void {
    const { store } = this.#session;
    store.set({ outbox: store.state.outbox.filter(({ message }) => message.id !== id) });
    this.#fail(error);
  }

  /** Cancels the turn of a message, if the server has the message. */
  async #withdraw(entry: Outgoing<Message>): Promise<void> {
    const { store, transport, id: chatId } = this.#session;
    try {
      await transport.stopTurn({ chatId, messageId: entry.message.id });
    } catch (error) {
      if (error instanceof ChatError && error.code === 'not_found') return;
      store.set({ outbox: putOutgoing(store.state.outbox, { ...entry, error: toError(error) }) });
    }
  }

  #leaveQueue({ turn, messageId }: OpenChatTurn): void {
    const { store } = this.#session;
    store.set({
      turns: store.state.turns.filter((open) => open.turn !== turn),
      outbox: store.state.outbox.filter(({ message }) => message.id !== messageId),
    });
  }

  /** The page need not wait for the news that its message is queued. */
  #addTurn(turn: string, message: Message): void {
    const { store } = this.#session;
    const { turns, messages, ends } = store.state;
    const isKnown = ends.has(turn) || messages.some(({ id }) => id === message.id);
    if (isKnown || turns.some((open) => open.turn === turn)) return;
    const added = {
      turn,
      messageId: message.id,
      state: 'queued',
      position: turns.length,
      text: readText(message),
    } as const;
    store.set({ turns: [...turns, added] });
  }

  /** The text of an edit that the server refuses stays in the queue. */
  #edit(message: Message): void {
    const { store, reader } = this.#session;
    const entry = { message, onBusy: 'enqueue', isEdit: true } as const;
    this.#put({ ...entry, state: 'sending' });
    this.#answerAgain(message, async () => {
      store.set({ outbox: store.state.outbox.filter((other) => other.message.id !== message.id) });
      const { error, ...end } = await reader.edit(message);
      if (end.turn !== undefined) return { ...end, error };
      const failure = error ?? new Error('the page has left the chat');
      this.#put({ ...entry, state: error === undefined ? 'unsure' : describeRefusal(error), error: failure });
      return end;
    });
  }

  /** Leaves the stream of the open answer, which may take long. The server ends its turn if it takes the request. */
  #answerAgain(question: Message, read: () => Promise<ReadEnd<Message>>): void {
    const { store, reader } = this.#session;
    const left = store.state.streaming === undefined ? undefined : reader.turn;
    reader.leaveStream();
    this.#session.read(async () => {
      const { messages } = store.state;
      const at = messages.findIndex(({ id }) => id === question.id);
      store.set({ messages: [...messages.slice(0, Math.max(0, at)), question], error: undefined });
      const end = await read();
      if (left !== undefined && end.turn === undefined) this.#session.resumeTurn(left);
      return end;
    });
  }

  async #answer(
    call: string,
    answer: PageAnswer,
    decision: { readonly approved?: boolean; readonly at: number; readonly by?: string },
  ): Promise<void> {
    const { store, transport, id: chatId } = this.#session;
    const turn = findCurrent(store.state)?.turn ?? '';
    store.set({ decided: new Map([...store.state.decided, [call, decision]]), error: undefined });
    try {
      const { status } = await transport.answerCalls({ chatId, answers: { [call]: answer } });
      if (status === 'answered') this.#session.resumeTurn(turn);
    } catch (error) {
      store.set({ decided: new Map([...store.state.decided].filter(([name]) => name !== call)) });
      this.#fail(error);
    }
  }

  /** @returns state of the turn, or undefined if the server refused */
  async #cancel({ turn: messageId }: Pick<OpenChatTurn, 'turn'>): Promise<string | undefined> {
    const { transport, id: chatId } = this.#session;
    try {
      return (await transport.stopTurn({ chatId, messageId })).state;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** The page may show what the server no longer has, so it also loads the messages. */
  #fail(error: unknown): void {
    if (this.#session.hasLeft) return;
    this.#session.store.set({ error: toError(error) });
    this.#session.refresh();
  }

  #findSent(id: string): Outgoing<Message> | undefined {
    return this.#session.store.state.outbox.find(({ message }) => message.id === id);
  }

  #findUnsent(id: string): Outgoing<Message> | undefined {
    const entry = this.#findSent(id);
    return entry?.state === 'refused' || entry?.state === 'unsure' ? entry : undefined;
  }
}

/** `crypto.randomUUID` is missing in pages of plain HTTP. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
