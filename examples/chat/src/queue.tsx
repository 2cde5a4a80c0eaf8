import type { UIMessage } from 'ai';
import type { DurableChat, QueuedMessage } from 'turnfold/chat/react';

const STATES = {
  sending: 'on its way',
  queued: 'waits',
  steering: 'joins the answer',
  refused: 'not sent',
  unsure: 'may not have arrived',
} as const;

interface QueueProps {
  readonly chat: DurableChat<UIMessage>;
  /** Puts a text back into the composer. */
  readonly edit: (text: string) => void;
}

/** Messages that wait for their turn, and those that the server refused. */
export function Queue({ chat, edit }: QueueProps) {
  if (chat.queue.length === 0) return null;
  return (
    <ol className="queue" aria-label="Messages that wait">
      {chat.queue.map((message) => (
        <Queued key={message.id} message={message} chat={chat} edit={edit} />
      ))}
    </ol>
  );
}

interface QueuedProps extends QueueProps {
  readonly message: QueuedMessage;
}

function Queued({ message: { id, text, files = [], state, position, isScheduled, error }, chat, edit }: QueuedProps) {
  const place = isScheduled ? 'scheduled' : state === 'queued' ? `number ${position + 1}` : STATES[state];
  return (
    <li className={state} data-id={id}>
      <div>
        <p>{text}</p>
        <small>{[place, ...files].join(' · ')}</small>
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
      {(state === 'refused' || state === 'unsure') && (
        <>
          <button type="button" className="quiet" onClick={() => void chat.resend(id)}>
            Send again
          </button>
          {state === 'refused' && (
            <button type="button" className="quiet" onClick={() => edit(chat.discard(id))}>
              Edit
            </button>
          )}
          <button type="button" className="quiet" onClick={() => chat.discard(id)}>
            Discard
          </button>
        </>
      )}
    </li>
  );
}
