import type { DynamicToolUIPart, ToolUIPart, UIMessage } from 'ai';
import type { DurableChat } from 'turnfold/chat/react';

interface ToolCallProps {
  readonly part: DynamicToolUIPart | ToolUIPart;
  readonly chat: DurableChat<UIMessage>;
}

/** A call with its arguments and its result. A call that needs approval is a card with two buttons. */
export function ToolCall({ part, chat }: ToolCallProps) {
  const { toolCallId, state } = part;
  const name = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length);
  const call = chat.waiting?.calls.find((one) => one.toolCallId === toolCallId);
  if (call?.approvalId !== undefined) {
    return <Approval name={name} input={call.input} decision={call.decision} decide={(approved) => void chat.decide(call.approvalId ?? toolCallId, approved)} />;
  }
  return (
    <details className="call">
      <summary>
        {name} <small>{STATES[state] ?? state}</small>
      </summary>
      <Arguments value={part.input} />
      {state === 'output-available' && <pre>{write(part.output)}</pre>}
      {state === 'output-error' && <pre className="failure">{part.errorText}</pre>}
    </details>
  );
}

const STATES: Readonly<Record<string, string>> = {
  'input-streaming': 'is being written',
  'input-available': 'runs',
  'approval-requested': 'needs approval',
  'approval-responded': 'decided',
  'output-available': 'done',
  'output-error': 'failed',
  'output-denied': 'denied',
};

interface ApprovalProps {
  readonly name: string;
  readonly input: unknown;
  readonly decision: { readonly approved?: boolean } | undefined;
  readonly decide: (approved: boolean) => void;
}

function Approval({ name, input, decision, decide }: ApprovalProps) {
  return (
    <section className="approval" aria-label={`Approval of ${name}`}>
      <p>
        The agent wants to run <strong>{name}</strong>
      </p>
      <Arguments value={input} />
      {decision === undefined ? (
        <div className="choice">
          <button type="button" className="main" onClick={() => decide(true)}>
            Allow
          </button>
          <button type="button" onClick={() => decide(false)}>
            Deny
          </button>
        </div>
      ) : (
        <p className="mark">{decision.approved === true ? 'Allowed' : 'Denied'}</p>
      )}
    </section>
  );
}

/** Fields of an object as a list, because a person reads them before a decision. */
function Arguments({ value }: { readonly value: unknown }) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return <pre>{write(value)}</pre>;
  const fields = Object.entries(value);
  if (fields.length === 0) return <p className="mark">No arguments</p>;
  return (
    <dl>
      {fields.map(([name, field]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{write(field)}</dd>
        </div>
      ))}
    </dl>
  );
}

function write(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}
