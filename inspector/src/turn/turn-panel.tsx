import '../version/version.css';
import './turn.css';
import type { TurnStepsAnswer } from '../../../src/api/contract/turn-steps.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Tag } from '../parts/tag.tsx';
import type { MessagePage } from '../shell/answers.ts';
import { pathOf } from '../shell/client.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { usePulse } from '../shell/use-pulse.ts';
import { MessageView } from '../version/message-view.tsx';
import { ShownText } from '../version/shown-text.tsx';
import { StepList } from './step-list.tsx';
import { TurnActions } from './turn-actions.tsx';
import type { ShownTurn } from './turn-answers.ts';
import { TurnFacts } from './turn-facts.tsx';
import { useTurnStream } from './use-turn-stream.ts';
import { WaitForm } from './wait-form.tsx';

/** Pause in ms between two reads of the attempts and the lease of an open turn. The stream does not contain them. */
const PULSE_MS = 2_000;

export interface TurnPanelProps {
  readonly conversation: string;
  readonly turn: string;
}

/** One turn: its steps with their times, what it waits for, and its text while the model writes it. */
export function TurnPanel({ conversation, turn }: TurnPanelProps) {
  const path = pathOf('conversations', conversation, 'turns', turn);
  const view = useAnswer<ShownTurn>(path);
  const steps = useAnswer<TurnStepsAnswer>(`${path}/steps`);
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
  const page = useAnswer<MessagePage>(pathOf('conversations', conversation, 'messages'), { after: seq - 1, limit: 1 });
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
