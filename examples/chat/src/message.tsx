import { isFileUIPart, isReasoningUIPart, isTextUIPart, isToolUIPart, type UIMessage } from 'ai';
import type { DurableChat } from 'turnfold/chat/react';
import { ToolCall } from './tool-call.tsx';

interface MessageProps {
  readonly message: UIMessage;
  readonly chat: DurableChat<UIMessage>;
  readonly isLast: boolean;
}

/** State of an answer, as the server says it. */
interface Metadata {
  readonly settledAt?: number;
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number };
  readonly stopped?: boolean;
  readonly canceled?: boolean;
  readonly failed?: { readonly code: string; readonly message: string };
}

/** One message, part by part. Texts are shown as text: nothing that a model wrote is interpreted. */
export function Message({ message, chat, isLast }: MessageProps) {
  const { id, role, parts } = message;
  const metadata = (message.metadata ?? {}) as Metadata;
  const { failed, stopped, canceled } = metadata;
  const isBusy = isLast && chat.status === 'answering';
  return (
    <li className={role} data-id={id} aria-label={role === 'user' ? 'You' : 'Agent'} aria-busy={isBusy}>
      {parts.map((part, index) => (
        <Part key={`${index} ${part.type}`} part={part} chat={chat} isLast={part === parts.at(-1)} />
      ))}
      {failed !== undefined && <Failure failed={failed} retry={isLast ? () => void chat.retry(id) : undefined} />}
      {(stopped === true || canceled === true) && <small className="mark">stopped</small>}
      {role === 'assistant' && chat.status === 'ready' && isLast && failed === undefined && (
        <button type="button" className="quiet again" onClick={() => void chat.retry(id)}>
          Answer again
        </button>
      )}
      {role === 'assistant' && <Facts {...metadata} />}
    </li>
  );
}

function Failure({ failed, retry }: { readonly failed: NonNullable<Metadata['failed']>; readonly retry: (() => void) | undefined }) {
  return (
    <div className="failed" role="alert">
      <p>
        <strong>The answer failed:</strong> {failed.message} <code>{failed.code}</code>
      </p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function Facts({ settledAt, usage }: Metadata) {
  const facts = [
    ...(settledAt === undefined ? [] : [new Date(settledAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })]),
    ...(usage?.inputTokens === undefined ? [] : [`${usage.inputTokens.toLocaleString()} tokens in`]),
    ...(usage?.outputTokens === undefined ? [] : [`${usage.outputTokens.toLocaleString()} out`]),
  ];
  return facts.length === 0 ? null : <small className="facts">{facts.join(' · ')}</small>;
}

type AnyPart = UIMessage['parts'][number];

interface PartProps {
  readonly part: AnyPart;
  readonly chat: DurableChat<UIMessage>;
  readonly isLast: boolean;
}

function Part({ part, chat, isLast }: PartProps) {
  if (isTextUIPart(part)) return <p className="text">{part.text}</p>;
  if (isReasoningUIPart(part)) {
    if (part.text === '') return null;
    return (
      <details className="thinking">
        <summary>{isLast && part.state === 'streaming' ? 'Thinking…' : 'Thoughts'}</summary>
        <p>{part.text}</p>
      </details>
    );
  }
  if (isToolUIPart(part)) return <ToolCall part={part} chat={chat} />;
  if (isFileUIPart(part)) return <FilePart url={part.url} mediaType={part.mediaType} name={part.filename} />;
  if (part.type === 'data-steering') return <p className="steering">{(part.data as { content?: string }).content}</p>;
  if (part.type === 'data-compaction') return <Compaction data={part.data} />;
  return null;
}

/** Only pictures that the message holds itself are shown. An address could tell its server who reads the chat. */
function FilePart({ url, mediaType, name = 'file' }: { readonly url: string; readonly mediaType: string; readonly name?: string | undefined }) {
  if (/^data:image\/(png|jpeg|gif|webp);/.test(url)) return <img className="picture" src={url} alt={name} />;
  return (
    <p className="file">
      {name} <small>{mediaType}</small>
    </p>
  );
}

function Compaction({ data }: { readonly data: unknown }) {
  const { before = 0, after = 0 } = data as { before?: number; after?: number };
  return (
    <p className="compaction">
      Older messages were condensed: {before.toLocaleString()} → {after.toLocaleString()} tokens
    </p>
  );
}
