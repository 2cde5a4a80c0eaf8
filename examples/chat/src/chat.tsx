import type { UIMessage } from 'ai';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Message } from './message.tsx';
import { useDurableChat } from './use-durable-chat.ts';

export interface ChatProps {
  readonly id: string;
  /** Messages of the log when the page was opened. */
  readonly messages: readonly UIMessage[];
}

export function Chat({ id, messages: loaded }: ChatProps) {
  const chat = useDurableChat(id, loaded);
  const { messages, status, isUnsure, error, sendMessage, regenerate, stop, addToolApprovalResponse } = chat;
  const isBusy = isUnsure || status === 'submitted' || status === 'streaming';
  const stopTurn = async () => {
    // The server ends the answer to this message only, also if the request comes late. If the request comes first, the server
    // waits for the message.
    const body = JSON.stringify({ messageId: messages.at(-1)?.id });
    const headers = { 'content-type': 'application/json' };
    const path = `/v1/chat/${encodeURIComponent(id)}/stop`;
    const answer = await fetch(path, { method: 'POST', headers, body }).catch(() => undefined);
    // The stream of a canceled turn ends by itself, with the mark of a stopped answer.
    if (answer?.ok !== true) await stop();
  };

  return (
    <>
      <ol className="messages" aria-live="polite" data-status={status}>
        {messages.map((message) => (
          <Message key={message.id} message={message} approve={addToolApprovalResponse} />
        ))}
      </ol>
      <End of={messages} />
      {error !== undefined && (
        <p className="failure" role="alert">
          {error.message}
        </p>
      )}
      {!isBusy && messages.at(-1)?.role === 'assistant' && (
        <button type="button" className="quiet" onClick={() => void regenerate()}>
          Answer again
        </button>
      )}
      <Composer isBusy={isBusy} send={(text) => void sendMessage({ text })} stop={() => void stopTurn()} />
    </>
  );
}

interface ComposerProps {
  readonly isBusy: boolean;
  readonly send: (text: string) => void;
  readonly stop: () => void;
}

function Composer({ isBusy, send, stop }: ComposerProps) {
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === '') return;
    send(text);
    setText('');
  };
  return (
    <form onSubmit={submit}>
      <input aria-label="Message" placeholder="Ask something" value={text} onChange={(event) => setText(event.target.value)} />
      {isBusy ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="submit">Send</button>
      )}
    </form>
  );
}

/** Keeps the end of the conversation in view while text arrives. */
function End({ of: messages }: { readonly of: readonly UIMessage[] }) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // In newer browsers, the call returns a promise, which is no clean-up.
    void end.current?.scrollIntoView({ block: 'end' });
  }, [messages]);
  return <div ref={end} />;
}
