import * as ai7 from 'ai';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import { onTestFinished } from 'vitest';
import { createActions } from '../../src/chat/react/chat-actions.ts';
import { ChatSession, type ChatSessionOptions } from '../../src/chat/react/chat-session.ts';
import { describeChat } from '../../src/chat/react/chat-view.ts';
import type { ChatHandle } from '../../src/chat/react/durable-chat.ts';

/** The packages differ in types that this test does not use. */
const SDKS = { 5: ai5 as unknown as typeof ai7, 6: ai6 as unknown as typeof ai7, 7: ai7 };
export type SessionSdk = keyof typeof SDKS;
type Message = ai7.UIMessage;

interface SessionOptions extends ChatSessionOptions {
  readonly sdkVersion?: SessionSdk;
}

/** Opens a chat as `useDurableChat` does, without React: its session, its actions and what it shows. */
export function openSession(id: string, { sdkVersion = 7, ...options }: SessionOptions) {
  const session = new ChatSession<Message>(id, { ...options, sdkVersion, maxPauseMs: 5 }, 100);
  const state: ai7.ChatState<Message> = {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage: (message) => void (state.messages = [...state.messages, message]),
    popMessage: () => void (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => void (state.messages = state.messages.with(index, structuredClone(message))),
    snapshot: (value) => structuredClone(value),
  };
  class Chat extends SDKS[sdkVersion].AbstractChat<Message> {}
  const chat = new Chat({ id, state, transport: session.reader.transport });
  const handle: ChatHandle<Message> = {
    get messages() {
      return chat.messages;
    },
    setMessages: (next) => {
      chat.messages = typeof next === 'function' ? next(chat.messages) : next;
    },
    resumeStream: async () => await chat.resumeStream(),
    regenerate: async (given) => await chat.regenerate(given),
    sendMessage: async (message) => await chat.sendMessage(message),
  };
  session.reader.attach(handle);
  const leave = session.open();
  onTestFinished(leave);
  return {
    session,
    leave,
    actions: createActions(session),
    view: () => describeChat(session.store.state, chat.messages.at(-1)),
  };
}

export type OpenSession = ReturnType<typeof openSession>;

/** Texts of the messages that a chat shows, with `+` in front of those that joined an answer. */
export function textsOf({ view }: Pick<OpenSession, 'view'>): string[] {
  return view().messages.flatMap(({ role, parts }) =>
    parts.flatMap((part) => {
      if (part.type === 'text') return [`${role}: ${part.text}`];
      return part.type === 'data-steering' ? [`+ ${(part.data as { content: string }).content}`] : [];
    }),
  );
}
