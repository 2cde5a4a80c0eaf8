import { useInterrupt } from '@copilotkit/react-core/v2';

/** Asks the person before a tool with `needsApproval` runs. */
export function useApproval(): void {
  useInterrupt({
    render: ({ interrupts, resolve, cancel }) => (
      <div className="approval">
        {interrupts.map(({ id, message, metadata }) => (
          <p key={id}>
            {message} <code>{String(metadata?.['input'] ?? '')}</code>
          </p>
        ))}
        <button type="button" className="allow" onClick={() => resolve({ approved: true })}>
          Allow
        </button>
        <button type="button" onClick={() => cancel()}>
          Deny
        </button>
      </div>
    ),
  });
}
