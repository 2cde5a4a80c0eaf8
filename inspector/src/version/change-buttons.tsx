import { useId, useState } from 'preact/hooks';
import { type ContextChange, commandOf } from '../parts/commands.ts';
import { Confirmation } from '../parts/confirmation.tsx';
import { newOperation, type Path, sendChange } from '../shell/client.ts';
import { linkTo } from '../shell/router.ts';
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

interface ChangeButtonsProps {
  readonly conversation: string;
  readonly changes: readonly ContextChange[];
  readonly live?: number | undefined;
}

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

interface ChangeDialogProps {
  readonly conversation: string;
  readonly first: ContextChange;
  /**
   * Live version when the person opened the dialog. The server refuses a restore if another version is live by then.
   */
  readonly live?: number | undefined;
  readonly onClose: () => void;
}

const TITLES: Readonly<Record<ContextChange['kind'], string>> = {
  restore: 'Restore a version',
  rollback: 'Roll back a turn',
  fork: 'Fork the conversation',
};

function ChangeDialog({ conversation, first, live, onClose }: ChangeDialogProps) {
  const [change, setChange] = useState(first);
  // Every click sends the same operation id, so a second click cannot make the change twice.
  const [operation] = useState(newOperation);
  const [seen] = useState(live);
  const send = async (): Promise<void> => {
    location.hash = await makeChange(conversation, { change, live: seen, operation });
  };
  return (
    <Confirmation
      title={TITLES[change.kind]}
      command={commandOf(conversation, change)}
      isIncomplete={change.kind === 'fork' && change.to === ''}
      send={send}
      onClose={onClose}
    >
      <ChangeFields change={change} onChange={setChange} />
      <p>{describe(change)}</p>
      <p class="hint">The log keeps every message. The same change on the command line:</p>
    </Confirmation>
  );
}

interface ChangeFieldsProps {
  readonly change: ContextChange;
  readonly onChange: (change: ContextChange) => void;
}

function ChangeFields({ change, onChange }: ChangeFieldsProps) {
  if (change.kind === 'restore') {
    const choose = (newer: 'keep' | 'drop') => () => onChange({ ...change, newer });
    return (
      <fieldset class="choices choices-column">
        <legend>Messages after version {change.version}</legend>
        <label class="choice">
          <input type="radio" name="newer" checked={change.newer === 'keep'} onChange={choose('keep')} />
          stay in the context
        </label>
        <label class="choice">
          <input type="radio" name="newer" checked={change.newer === 'drop'} onChange={choose('drop')} />
          leave the context, except for pinned ones
        </label>
      </fieldset>
    );
  }
  if (change.kind === 'rollback') return null;
  return (
    <label class="field">
      Id of the new conversation
      <input
        value={change.to}
        maxLength={128}
        pattern="[A-Za-z0-9_.\-]+"
        spellcheck={false}
        onInput={({ currentTarget }) => onChange({ ...change, to: currentTarget.value.trim() })}
      />
    </label>
  );
}

function describe(change: ContextChange): string {
  switch (change.kind) {
    case 'restore': {
      const newer = change.newer === 'keep' ? 'followed by everything newer' : 'without anything newer';
      const shown = change.version === 0 ? 'the whole log' : `the context of version ${change.version}`;
      return `The agent gets a new version: ${shown}, ${newer}. A compaction in progress ends, and the next one waits until the context has grown by 15 %.`;
    }
    case 'rollback':
      return `The agent gets a new version: the context before turn ${change.turn}. The messages of that turn and of all later turns leave the context, except for pinned ones.`;
    case 'fork':
      return `A new conversation starts with a copy of the log and version ${change.version}. This conversation stays as it is.`;
  }
}

interface Sent {
  readonly change: ContextChange;
  readonly live: number | undefined;
  readonly operation: string;
}

/** @returns the hash of the page that shows the outcome */
async function makeChange(conversation: string, { change, live, operation }: Sent): Promise<string> {
  const path = (...parts: Path): Path => ['conversations', conversation, ...parts];
  switch (change.kind) {
    case 'restore': {
      const { version, newer } = change;
      const body = { newer, ...(live !== undefined && { expectedVersion: live }) };
      const made = await sendChange<{ number: number }>(path('versions', version, 'restore'), body, { operation });
      return linkTo('c', conversation, 'v', made.number);
    }
    case 'rollback': {
      const made = await sendChange<{ number: number }>(path('turns', change.turn, 'rollback'), {}, { operation });
      return linkTo('c', conversation, 'v', made.number);
    }
    case 'fork': {
      const { version, to } = change;
      await sendChange(path('fork'), { version, to }, { operation });
      return linkTo('c', to);
    }
  }
}
