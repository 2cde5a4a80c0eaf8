import { useState } from 'preact/hooks';
import { Confirmation } from '../parts/confirmation.tsx';
import { pathOf, sendChange } from '../shell/client.ts';
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
    text: 'The turn ends as canceled, and the next one starts. Text that a reader has seen stays in the log as a stopped message. Other work that is not recorded is lost, and open tool calls get an error result.',
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
  const { title, text } = ACTIONS[action];
  const send = async (): Promise<void> => {
    const path = pathOf('conversations', conversation, 'turns', turn, action);
    const answer = await sendChange<{ turn?: string }>(path, {}, action === 'redrive' ? { operation } : {});
    onChange();
    if (answer.turn !== undefined) location.hash = linkTo('c', conversation, 't', answer.turn);
  };
  return (
    <Confirmation title={title} command={`turnfold ${action} ${conversation} ${turn}`} send={send} onClose={onClose}>
      <p>{text}</p>
    </Confirmation>
  );
}
