import type { UIMessage } from 'ai';
import type { DurableChat, QueuedMessage } from 'turnfold/chat/react';

const STATES = { sending: 'on its way', queued: 'waits', steering: 'joins the answer', refused: 'not sent' } as const;

/** Messages that wait for their turn, and those that the server refused. */
export function Queue({ chat }: { readonly chat: DurableChat<UIMessage> }) {
  if (chat.queue.length === 0) return null;
  return (
    <ol className="queue" aria-label="Messages that wait">
      {chat.queue.map((message) => (
        <Queued key={message.id} message={message} chat={chat} />
      ))}
    </ol>
  );
}

interface QueuedProps {
  readonly message: QueuedMessage;
  readonly chat: DurableChat<UIMessage>;
}

function Queued({ message: { id, text, state, position, isScheduled, error }, chat }: QueuedProps) {
  const place = isScheduled ? 'scheduled' : state === 'queued' ? `number ${position + 1}` : STATES[state];
  return (
    <li className={state} data-id={id}>
      <div>
        <p>{text}</p>
        <small>{place}</small>
        {error !== undefined && (
          <p className="failure" role="alert">
            {error.message}
          </p>
        )}
      </div>
      {state === 'queued' && (
        <>
          {chat.status === 'answering' && (
            <button type="button" className="quiet" onClick={() => void chat.steer(id)}>
              Add to answer
            </button>
          )}
          <button type="button" className="quiet" aria-label={`Remove: ${text}`} onClick={() => void chat.remove(id)}>
            Remove
          </button>
        </>
      )}
      {state === 'refused' && (
        <>
          <button type="button" className="quiet" onClick={() => void chat.resend(id)}>
            Send again
          </button>
          <button type="button" className="quiet" onClick={() => chat.discard(id)}>
            Discard
          </button>
        </>
      )}
    </li>
  );
}
