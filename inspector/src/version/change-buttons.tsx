import { useId, useState } from 'preact/hooks';
import type { ContextChange } from './change-commands.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { useRefusal } from './use-access.ts';

function labelOf(change: ContextChange): string {
  switch (change.kind) {
    case 'restore':
      return `Restore version ${change.version}…`;
    case 'rollback':
      return 'Roll back this turn…';
    case 'fork':
      return `Fork from version ${change.version}…`;
  }
}

export interface ChangeButtonsProps {
  readonly conversation: string;
  readonly changes: readonly ContextChange[];
  /** Live version. A restore is off until it is known. */
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
          disabled={refusal !== undefined || (change.kind === 'restore' && live === undefined)}
          {...(refusal !== undefined && { 'aria-describedby': reason, title: refusal })}
          onClick={() => setOpened(change)}
        >
          {labelOf(change)}
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
