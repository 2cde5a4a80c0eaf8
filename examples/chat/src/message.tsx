import { type DynamicToolUIPart, isDynamicToolUIPart, isReasoningUIPart, isTextUIPart, type UIMessage } from 'ai';

export type Approve = (answer: { id: string; approved: boolean }) => unknown;

interface MessageProps {
  readonly message: UIMessage;
  readonly approve: Approve;
}

/** One message, part by part. Texts are shown as text: nothing that a model wrote is interpreted. */
export function Message({ message, approve }: MessageProps) {
  return (
    <li className={message.role} data-id={message.id}>
      {message.parts.map((part, index) => (
        <Part key={`${index} ${part.type}`} part={part} approve={approve} />
      ))}
      {isStopped(message.metadata) && <small>stopped</small>}
    </li>
  );
}

/** True for an answer whose text ends where its turn was canceled. */
function isStopped(metadata: unknown): boolean {
  return (metadata as { stopped?: boolean } | undefined)?.stopped === true;
}

type AnyPart = UIMessage['parts'][number];

function Part({ part, approve }: { readonly part: AnyPart; readonly approve: Approve }) {
  if (isTextUIPart(part)) return <p className="text">{part.text}</p>;
  if (isReasoningUIPart(part)) {
    return (
      <details>
        <summary>Thinking</summary>
        <p>{part.text}</p>
      </details>
    );
  }
  if (isDynamicToolUIPart(part)) return <ToolCall part={part} approve={approve} />;
  if (part.type === 'data-compaction') return <Compaction data={part.data} />;
  return null;
}

function ToolCall({ part, approve }: { readonly part: DynamicToolUIPart; readonly approve: Approve }) {
  const { toolName, state } = part;
  const { approval } = part;
  return (
    <details className="call" open={state === 'approval-requested'}>
      <summary>
        {toolName} <small>{STATES[state] ?? state}</small>
      </summary>
      <pre>{JSON.stringify(part.input, null, 2)}</pre>
      {state === 'output-available' && <pre>{write(part.output)}</pre>}
      {state === 'output-error' && <pre className="failure">{part.errorText}</pre>}
      {state === 'approval-requested' && approval !== undefined && (
        <p>
          <button type="button" onClick={() => void approve({ id: approval.id, approved: true })}>
            Allow
          </button>{' '}
          <button type="button" onClick={() => void approve({ id: approval.id, approved: false })}>
            Refuse
          </button>
        </p>
      )}
    </details>
  );
}

const STATES: Readonly<Record<string, string>> = {
  'input-streaming': 'is being written',
  'input-available': 'runs',
  'approval-requested': 'waits for you',
  'approval-responded': 'answered',
  'output-available': 'done',
  'output-error': 'failed',
  'output-denied': 'refused',
};

function write(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2);
}

function Compaction({ data }: { readonly data: unknown }) {
  const { version, before, after } = data as { version?: number; before?: number; after?: number };
  return (
    <p className="compaction">
      context version {version}: {before} → {after} tokens
    </p>
  );
}
