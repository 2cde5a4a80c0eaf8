import { useChat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { type DurableChat, useDurableChat } from 'turnfold/chat/react';
import { Composer } from './composer.tsx';
import { Message } from './message.tsx';
import { Queue } from './queue.tsx';

const SUGGESTIONS = ['What can you do for me?', 'Summarize our conversation so far.', 'Explain this in three sentences: durable queues.'];

/** One chat. Everything that the page shows comes from the hook. */
export function Chat({ id }: { readonly id: string }) {
  const chat = useDurableChat<UIMessage>({ id, useChat });
  const { messages, status } = chat;
  const [text, setText] = useDraft(id);
  const edit = (refused: string) => setText([refused, text].filter((one) => one !== '').join('\n'));
  const last = messages.at(-1);
  return (
    <main>
      <Connection isConnected={chat.isConnected} />
      {status === 'loading' && messages.length === 0 && <Skeleton />}
      {status === 'unavailable' && <Unavailable chat={chat} />}
      {status !== 'unavailable' && (status !== 'loading' || messages.length > 0) && (
        <>
          {chat.hasEarlier && <Earlier chat={chat} />}
          {messages.length === 0 && chat.queue.length === 0 && <Empty send={(text) => void chat.send({ text })} />}
          <ol className="messages" data-status={status} aria-label="Messages">
            {messages.map((message) => (
              <Message key={message.id} message={message} chat={chat} isLast={message === last} />
            ))}
          </ol>
          <Activity chat={chat} />
          <End of={messages} />
          {chat.error !== undefined && (
            <p className="failure" role="alert">
              {chat.error.message}{' '}
              <button type="button" className="quiet" onClick={chat.reload}>
                Load again
              </button>
              <button type="button" className="quiet" onClick={chat.clearError}>
                Dismiss
              </button>
            </p>
          )}
        </>
      )}
      <footer>
        <Queue chat={chat} edit={edit} />
        <Composer chat={chat} text={text} setText={setText} />
      </footer>
    </main>
  );
}

/** The text that is being written. It survives a reload, and a visit to another conversation. */
function useDraft(id: string): readonly [string, (text: string) => void] {
  const key = `draft ${id}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  const write = (next: string) => {
    setText(next);
    if (next === '') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, next);
  };
  return [text, write];
}

/** Short losses are repaired before a person notices, so the banner comes late (style.css). */
function Connection({ isConnected }: { readonly isConnected: boolean }) {
  return (
    <div role="status">
      {!isConnected && <p className="banner">Connection lost. The chat goes on by itself once the server answers.</p>}
    </div>
  );
}

function Skeleton() {
  return (
    <div className="skeleton" role="status" aria-label="Loading the conversation">
      <i />
      <i />
      <i />
    </div>
  );
}

function Unavailable({ chat }: { readonly chat: DurableChat<UIMessage> }) {
  return (
    <div className="empty" role="alert">
      <h2>This conversation cannot be shown</h2>
      <p>{chat.error?.message}</p>
      <button type="button" onClick={chat.reload}>
        Load again
      </button>
    </div>
  );
}

function Empty({ send }: { readonly send: (text: string) => void }) {
  return (
    <div className="empty">
      <h2>Ask something</h2>
      <p>The answer goes on when you reload or close this page.</p>
      <ul>
        {SUGGESTIONS.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => send(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Loads earlier messages, and keeps those in view where they are. */
function Earlier({ chat }: { readonly chat: DurableChat<UIMessage> }) {
  const height = useRef<number>(undefined);
  const first = chat.messages[0]?.id;
  useLayoutEffect(() => {
    if (height.current === undefined) return;
    scrollBy(0, document.documentElement.scrollHeight - height.current);
    height.current = undefined;
  }, [first]);
  const load = () => {
    height.current = document.documentElement.scrollHeight;
    void chat.loadEarlier();
  };
  return (
    <button type="button" className="quiet earlier" disabled={chat.isLoadingEarlier} onClick={load}>
      {chat.isLoadingEarlier ? 'Loading…' : 'Load earlier messages'}
    </button>
  );
}

/** Says what the chat does while no text arrives. */
function Activity({ chat: { status, current, messages } }: { readonly chat: DurableChat<UIMessage> }) {
  const wait = current?.waiting?.for;
  const isSilent = messages.at(-1)?.role === 'user';
  let text: string | undefined;
  if (status === 'waiting') text = wait === 'approval' ? 'Waits for your decision' : 'Waits for the result of a tool';
  else if (wait === 'retry') text = 'The model is busy. The turn tries again soon';
  else if (wait === 'compaction') text = 'Makes room in the context';
  else if (status === 'queued') text = current === undefined ? 'Sends the message' : 'Waits for a free worker';
  else if (status === 'answering' && isSilent) text = 'Thinks';
  return (
    <p className="activity" role="status">
      {text !== undefined && <span className={status === 'waiting' ? '' : 'busy'}>{text}</span>}
    </p>
  );
}

const NEAR_PX = 160;

function scrollToEnd(): void {
  scrollTo(0, document.documentElement.scrollHeight);
}

/** Keeps the end in view while text arrives, unless the reader has scrolled up. */
function End({ of: messages }: { readonly of: readonly UIMessage[] }) {
  const isNear = useRef(true);
  const asked = messages.findLast(({ role }) => role === 'user')?.id;
  useEffect(() => {
    const look = () => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      isNear.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    };
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  useLayoutEffect(() => {
    isNear.current = true;
  }, [asked]);
  useLayoutEffect(() => {
    if (isNear.current) scrollToEnd();
  }, [messages]);
  // The composer and the queue stand in front of the text. They also grow while no message arrives.
  useEffect(() => {
    const growth = new ResizeObserver(() => {
      if (isNear.current) scrollToEnd();
    });
    growth.observe(document.body);
    return () => growth.disconnect();
  }, []);
  return null;
}
