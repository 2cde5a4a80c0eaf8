import { useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { AnswerError, pathOf, sendChange } from '../shell/client.ts';
import { linkTo } from '../shell/router.ts';
import { ChangeButtons } from '../version/change-buttons.tsx';
import { newOperation } from '../version/operation-id.ts';
import { useRefusal } from '../version/use-access.ts';
import type { ShownTurn } from './turn-answers.ts';

export interface TurnActionsProps {
  readonly conversation: string;
  readonly turn: ShownTurn;
  readonly onChange: () => void;
}

/** Changes that a person can make to a turn, by its state. */
export function TurnActions({ conversation, turn, onChange }: TurnActionsProps) {
  const isSettled = turn.settledAt !== undefined;
  return (
    <div class="turn-actions">
      {isSettled && turn.inputSeq !== undefined && (
        <ChangeButtons conversation={conversation} changes={[{ kind: 'rollback', turn: turn.turn }]} />
      )}
      {!isSettled && <TurnButton action="cancel" {...{ conversation, turn, onChange }} />}
      {turn.state === 'failed' && <TurnButton action="redrive" {...{ conversation, turn, onChange }} />}
    </div>
  );
}

const ACTIONS = {
  cancel: {
    label: 'Cancel the turn…',
    title: 'Cancel the turn',
    text: 'The turn ends as canceled, and the next one starts. Work that is not recorded yet is lost, and open tool calls get an error result.',
  },
  redrive: {
    label: 'Run again…',
    title: 'Run the turn again',
    text: 'The input of the failed turn runs again, as a new turn behind all queued ones.',
  },
} as const;

function TurnButton({ action, ...props }: TurnActionsProps & { readonly action: keyof typeof ACTIONS }) {
  const [isOpen, setIsOpen] = useState(false);
  const refusal = useRefusal('enqueue');
  return (
    <>
      <button
        type="button"
        class="button"
        disabled={refusal !== undefined}
        title={refusal}
        onClick={() => setIsOpen(true)}
      >
        {ACTIONS[action].label}
      </button>
      {isOpen && <TurnDialog action={action} {...props} onClose={() => setIsOpen(false)} />}
    </>
  );
}

interface TurnDialogProps extends TurnActionsProps {
  readonly action: keyof typeof ACTIONS;
  readonly onClose: () => void;
}

function TurnDialog({ action, conversation, turn: { turn }, onChange, onClose }: TurnDialogProps) {
  const [operation] = useState(newOperation);
  const [error, setError] = useState<AnswerError>();
  const [isSending, setIsSending] = useState(false);
  const { title, text } = ACTIONS[action];
  const command = `turnfold ${action} ${conversation} ${turn}`;
  const send = async (): Promise<void> => {
    setIsSending(true);
    try {
      const path = pathOf('conversations', conversation, 'turns', turn, action);
      const answer = await sendChange<{ turn?: string }>(path, {}, action === 'redrive' ? { operation } : {});
      onClose();
      onChange();
      if (answer.turn !== undefined) location.hash = linkTo('c', conversation, 't', answer.turn);
    } catch (thrown) {
      if (!(thrown instanceof AnswerError)) throw thrown;
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
          <button type="button" class="button button-main" disabled={isSending} onClick={() => void send()}>
            {title}
          </button>
        </>
      }
    >
      <div class="change">
        <p>{text}</p>
        <p class="command">
          <code>{command}</code>
          <CopyButton text={command} what="the command" />
        </p>
        {error !== undefined && <ErrorNote error={error} />}
      </div>
    </Dialog>
  );
}
