import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isTurnfoldError, type TurnfoldError } from '../shell/client.ts';
import { CommandLine } from './command-line.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNote } from './error-note.tsx';

interface ConfirmationProps {
  /** Name of the change, and label of the button that makes it. */
  readonly title: string;
  /** Command line that makes the same change. */
  readonly command: string;
  /** True while the change lacks a field. */
  readonly isIncomplete?: boolean;
  /** @throws TurnfoldError, which the dialog shows */
  readonly send: () => Promise<void>;
  readonly onClose: () => void;
  /** Description of the change, and its fields. */
  readonly children: ComponentChildren;
}

/** Says what a change will do, shows the command for it, and makes it after a click. */
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
