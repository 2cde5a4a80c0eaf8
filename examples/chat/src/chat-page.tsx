import type { UIMessage } from 'ai';
import { useEffect, useState } from 'react';
import { Chat } from './chat.tsx';
import { loadMessages } from './load-messages.ts';

interface OpenConversation {
  readonly id: string;
  readonly messages: readonly UIMessage[];
}

/** The page of one conversation. Its id stands in the address, so that a reload opens it again. */
export function ChatPage() {
  const id = useConversationId();
  const [opened, setOpened] = useState<OpenConversation>();
  const [failure, setFailure] = useState<string>();

  useEffect(() => {
    const left = new AbortController();
    setFailure(undefined);
    loadMessages(id, left.signal).then(
      (messages) => setOpened({ id, messages }),
      (error: unknown) => {
        if (!left.signal.aborted) setFailure(String(error));
      },
    );
    return () => left.abort();
  }, [id]);

  return (
    <main>
      <header>
        <h1>turnfold chat</h1>
        <code title="conversation">{id}</code>
        <a href={`#${newId()}`}>New conversation</a>
      </header>
      {failure !== undefined && <Unavailable failure={failure} />}
      {opened?.id === id ? <Chat key={id} id={id} messages={opened.messages} /> : failure === undefined && <p>Loading…</p>}
    </main>
  );
}

function Unavailable({ failure }: { readonly failure: string }) {
  return (
    <p className="failure" role="alert">
      The conversation could not be loaded: {failure}{' '}
      <button type="button" onClick={() => location.reload()}>
        Load again
      </button>
    </p>
  );
}

function useConversationId(): string {
  const [id, setId] = useState(readId);
  useEffect(() => {
    const follow = () => setId(readId());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return id;
}

function readId(): string {
  if (location.hash.length < 2) history.replaceState(null, '', `#${newId()}`);
  return decodeURIComponent(location.hash.slice(1));
}

function newId(): string {
  return `chat-${crypto.randomUUID()}`;
}
