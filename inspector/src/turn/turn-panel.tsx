import '../version/version.css';
import './turn.css';
import { useState } from 'preact/hooks';
import type { TurnStepsAnswer } from '../../../src/api/contract/turn-steps.ts';
import { Confirmation } from '../parts/confirmation.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Tag } from '../parts/tag.tsx';
import type { MessagePage, ShownTurn } from '../shell/answers.ts';
import { newOperation, sendChange } from '../shell/client.ts';
import { linkTo } from '../shell/router.ts';
import { useAnswer, usePulse } from '../shell/use-answer.ts';
import { ChangeButtons } from '../version/change-buttons.tsx';
import { MessageView } from '../version/message-view.tsx';
import { ShownText } from '../version/shown-text.tsx';
import { useRefusal } from '../version/use-access.ts';
import { StepList, useTurnStream } from './step-list.tsx';
import { TurnFacts } from './turn-facts.tsx';
import { WaitForm } from './wait-form.tsx';

/** Time between two reads of an open turn. The stream contains neither the attempts nor the lease of the turn. */
const PULSE_MS = 2_000;

export function TurnPanel({ conversation, turn }: { readonly conversation: string; readonly turn: string }) {
  const path = ['conversations', conversation, 'turns', turn];
  const view = useAnswer<ShownTurn>(path);
  const steps = useAnswer<TurnStepsAnswer>([...path, 'steps']);
  const reload = (): void => {
    view.reload();
    steps.reload();
  };
  const stream = useTurnStream(conversation, turn, reload);
  usePulse(() => {
    if (view.value?.settledAt === undefined) reload();
  }, PULSE_MS);
  return (
    <Loaded answer={view} what="the turn">
      {(value) => (
        <div class="turn">
          <TurnFacts conversation={conversation} turn={value} steps={steps.value} />
          <TurnActions conversation={conversation} turn={value} onChange={reload} />
          {value.failure !== undefined && (
            <ErrorNote error={{ message: value.failure.message, code: value.failure.code }} />
          )}
          {value.waiting !== undefined && (
            <WaitForm
              key={value.waiting.since}
              conversation={conversation}
              turn={turn}
              waiting={value.waiting}
              onAnswered={reload}
            />
          )}
          <section class="turn-steps" aria-label="Steps">
            <div class="column-head">
              <h3>Steps</h3>
              <p role="status" class="soft">
                {stream.state === 'open' && <Tag tone="good">live</Tag>}
                {stream.state === 'lost' && <Tag tone="warn">connecting again</Tag>}
              </p>
            </div>
            {stream.error !== undefined && <ErrorNote error={stream.error} />}
            {value.inputSeq !== undefined && <TurnInput conversation={conversation} seq={value.inputSeq} />}
            {stream.items.length === 0 && <NoSteps turn={value} />}
            <StepList conversation={conversation} items={stream.items} steps={steps.value} />
          </section>
          {value.answer?.value !== undefined && (
            <section class="card turn-value" aria-label="Answer as JSON">
              <ShownText text={JSON.stringify(value.answer.value, null, 2)} />
            </section>
          )}
        </div>
      )}
    </Loaded>
  );
}

function TurnInput({ conversation, seq }: { readonly conversation: string; readonly seq: number }) {
  const page = useAnswer<MessagePage>(['conversations', conversation, 'messages'], { after: seq - 1, limit: 1 });
  return (
    <Loaded answer={page} what="the input">
      {({ items: [item] }) => item !== undefined && <MessageView conversation={conversation} item={item} />}
    </Loaded>
  );
}

function NoSteps({ turn }: { readonly turn: ShownTurn }) {
  if (turn.settledAt !== undefined) return <EmptyState title="The turn ended before its first step" />;
  if (turn.state === 'scheduled') return <EmptyState title="The turn waits for its time" />;
  if (turn.state === 'queued') {
    return <EmptyState title="The turn waits in the mailbox">Earlier turns of the conversation run first.</EmptyState>;
  }
  return <EmptyState title="The model has not written anything yet" />;
}

interface TurnActionsProps {
  readonly conversation: string;
  readonly turn: ShownTurn;
  readonly onChange: () => void;
}

function TurnActions({ conversation, turn, onChange }: TurnActionsProps) {
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
    const path = ['conversations', conversation, 'turns', turn, action];
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
