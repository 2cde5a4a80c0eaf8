/** `turnfold/chat/react`: the hook of chat pages. It needs React 18 or later, and the `useChat` that a page passes in. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import type { TransportMessage } from '../transport-types.ts';
import { type Actions, createActions } from './chat-actions.ts';
import { ChatSession } from './chat-session.ts';
import { describeChat } from './chat-view.ts';
import type { DurableChat, DurableChatOptions } from './durable-chat.ts';
import type { PageCall } from './next-step.ts';

export type {
  ChatHandle,
  DurableChat,
  DurableChatOptions,
  DurableChatStatus,
  NewMessage,
  PageChatOptions,
  QueuedMessage,
  QueuedState,
  WaitingChatTurn,
} from './durable-chat.ts';
export type { PageCall } from './next-step.ts';

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
  const opened = useRef(new Map<string, OpenedChat<Message>>());
  // React may drop a render and repeat it. `useChat` then keeps the transport of the dropped one.
  const { session, actions } = opened.current.get(id) ?? openChat<Message>(options, latest);
  opened.current.set(id, { session, actions });
  const { transport } = session.reader;
  // The session itself calls it, because a stream that is read again has its calls again.
  const given = { ...chatOptions, onToolCall: undefined };
  const chat = useChat({ ...given, id, messages: [], transport, resume: false } as never);

  useEffect(() => {
    latest.current = options;
    session.reader.attach(chat);
  });
  // Behind the effect above, so that the reader has its chat.
  useEffect(() => {
    for (const other of opened.current.keys()) if (other !== id) opened.current.delete(other);
    return session.open();
  }, [id, session]);

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
  { id, pageSize = PAGE_SIZE, chatOptions: _, ...options }: DurableChatOptions<Message>,
  latest: { readonly current: DurableChatOptions<Message> },
): OpenedChat<Message> {
  const headers = async () => {
    const { headers: given } = latest.current;
    return (typeof given === 'function' ? await given() : given) ?? {};
  };
  const onToolCall = (call: { readonly toolCall: PageCall }) => latest.current.chatOptions?.onToolCall?.(call);
  const session = new ChatSession<Message>(id, { ...options, headers, onToolCall }, pageSize);
  return { session, actions: createActions(session) };
}
