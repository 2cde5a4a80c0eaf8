import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isTurnfoldError, type TurnfoldError } from '../shell/client.ts';
import { CommandLine } from './command-line.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNote } from './error-note.tsx';

interface ConfirmationProps {
  readonly title: string;
  readonly command: string;
  readonly isIncomplete?: boolean;
  /** @throws TurnfoldError, which the dialog shows */
  readonly send: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Confirmation({ title, command, isIncomplete = false, send, onClose, children }: ConfirmationProps) {
  const [isSending, setIsSending] = useState(false);
  const [error, setError] = useState<TurnfoldError>();
  const confirm = async (): Promise<void> => {
    setIsSending(true);
    setError(undefined);
    try {
      await send();
      onClose();
    } catch (thrown) {
      if (!isTurnfoldError(thrown)) throw thrown;
      setError(thrown);
      setIsSending(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <button type="button" class="button" onClick={onClose}>
            Back
          </button>
          <button
            type="button"
            class="button button-main"
            disabled={isSending || isIncomplete}
            onClick={() => void confirm()}
          >
            {isSending ? 'Working…' : title}
          </button>
        </>
      }
    >
      <div class="confirmation">
        {children}
        <CommandLine command={command} />
        {error !== undefined && <ErrorNote error={error} />}
      </div>
    </Dialog>
  );
}
