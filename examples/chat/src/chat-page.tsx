import { useEffect, useState } from 'react';
import { Chat } from './chat.tsx';

/** The page of one conversation. Its id stands in the address, so that a reload opens it again. */
export function ChatPage() {
  const id = useConversationId();
  return (
    <>
      <header>
        <h1>turnfold chat</h1>
        <code title={`Conversation ${id}`}>{id}</code>
        <a href={`#${newId()}`}>New conversation</a>
      </header>
      <Chat key={id} id={id} />
    </>
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

/** `crypto.randomUUID` is missing in pages of plain HTTP. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `chat-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
