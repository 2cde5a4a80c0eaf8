/** `turnfold/chat/react`: the hook of chat pages. It needs React 18 or later, and the `useChat` that a page passes in. */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { DurableTransportOptions, TransportMessage } from '../transport-types.ts';
import { type Actions, createActions } from './chat-actions.ts';
import { ChatSession } from './chat-session.ts';
import { describeChat } from './chat-view.ts';
import type { DurableChat, DurableChatOptions } from './durable-chat.ts';

export type {
  ChatHandle,
  DurableChat,
  DurableChatOptions,
  DurableChatStatus,
  NewMessage,
  QueuedMessage,
  QueuedState,
  WaitingChatTurn,
} from './durable-chat.ts';

const PAGE_SIZE = 100;

/**
 * A chat that survives reloads, cuts and restarts: its messages, the queue, open calls and what other pages do. It reads
 * streams with the `useChat` that it is given.
 */
export function useDurableChat<Message extends TransportMessage>(
  options: DurableChatOptions<Message>,
): DurableChat<Message> {
  const { id, useChat, chatOptions } = options;
  const latest = useRef(options);
  const [kept, keep] = useState(() => openChat<Message>(options, latest));
  let opened = kept;
  if (kept.session.id !== id) {
    opened = openChat<Message>(options, latest);
    keep(opened);
  }
  const { session, actions } = opened;
  const { transport } = session.reader;
  const chat = useChat({ ...chatOptions, id, messages: [], transport, resume: false } as never);

  useEffect(() => {
    latest.current = options;
    session.reader.attach(chat);
  });
  // Behind the effect above, so that the reader has its chat.
  useEffect(() => session.open(), [session]);

  const { store } = session;
  const [subscribe, getState] = useMemo(() => {
    return [(listener: () => void) => store.subscribe(listener), () => store.state] as const;
  }, [store]);
  const state = useSyncExternalStore(subscribe, getState, getState);
  const live = chat.messages.at(-1);
  const view = useMemo(() => describeChat(state, live), [state, live]);
  return { id, ...view, ...actions };
}

interface OpenedChat<Message extends TransportMessage> {
  readonly session: ChatSession<Message>;
  readonly actions: Actions<Message>;
}

function openChat<Message extends TransportMessage>(
  { id, pageSize = PAGE_SIZE, ...options }: DurableChatOptions<Message>,
  latest: { readonly current: DurableTransportOptions },
): OpenedChat<Message> {
  const headers = async () => {
    const { headers: given } = latest.current;
    return (typeof given === 'function' ? await given() : given) ?? {};
  };
  const session = new ChatSession<Message>(id, { ...options, headers }, pageSize);
  return { session, actions: createActions(session) };
}
