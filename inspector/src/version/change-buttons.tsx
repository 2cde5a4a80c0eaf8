import { useId, useState } from 'preact/hooks';
import type { ContextChange } from './change-commands.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { useRefusal } from './use-access.ts';

const LABELS: Readonly<Record<ContextChange['kind'], string>> = {
  restore: 'Restore…',
  rollback: 'Roll back…',
  fork: 'Fork…',
};

export interface ChangeButtonsProps {
  readonly conversation: string;
  readonly changes: readonly ContextChange[];
  readonly live?: number | undefined;
}

/** Buttons that open the confirmation of a change. Without the right to make changes, they are off and say why. */
export function ChangeButtons({ conversation, changes, live }: ChangeButtonsProps) {
  const [opened, setOpened] = useState<ContextChange>();
  const refusal = useRefusal('admin');
  const reason = useId();
  return (
    <div class="change-buttons">
      {changes.map((change) => (
        <button
          key={change.kind}
          type="button"
          class="button"
          disabled={refusal !== undefined}
          {...(refusal !== undefined && { 'aria-describedby': reason, title: refusal })}
          onClick={() => setOpened(change)}
        >
          {LABELS[change.kind]}
        </button>
      ))}
      {refusal !== undefined && (
        <p id={reason} class="hint">
          {refusal}
        </p>
      )}
      {opened !== undefined && (
        <ChangeDialog conversation={conversation} first={opened} live={live} onClose={() => setOpened(undefined)} />
      )}
    </div>
  );
}
