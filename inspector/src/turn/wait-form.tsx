import { useId, useState } from 'preact/hooks';
import type { Waiting } from '../../../src/domain/turn.ts';
import { CommandLine } from '../parts/command-line.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Time } from '../parts/figures.tsx';
import { isTurnfoldError, sendChange, type TurnfoldError } from '../shell/client.ts';
import { ShownText } from '../version/shown-text.tsx';
import { useRefusal } from '../version/use-access.ts';
import { type AnswerDraft, answersOf, EMPTY_DRAFT } from './answer-draft.ts';

interface WaitFormProps {
  readonly conversation: string;
  readonly turn: string;
  readonly waiting: Waiting;
  readonly onAnswered: () => void;
}

const NAMES: Readonly<Record<Waiting['for'], string>> = {
  tools: 'The turn waits for results of tools',
  approval: 'The turn waits for a decision',
  compaction: 'The turn waits for a compaction',
  retry: 'The turn waits before it asks the model again',
};

export function WaitForm({ conversation, turn, waiting, onAnswered }: WaitFormProps) {
  const [drafts, setDrafts] = useState<ReadonlyMap<string, AnswerDraft>>(new Map());
  const [isSending, setIsSending] = useState(false);
  const [error, setError] = useState<TurnfoldError>();
  const refusal = useRefusal('answer');
  const answers = answersOf(waiting, drafts);
  const count = Object.keys(answers).length;
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    setIsSending(true);
    setError(undefined);
    try {
      await sendChange(['conversations', conversation, 'turns', turn, 'answers'], { answers });
      setDrafts(new Map());
      onAnswered();
    } catch (thrown) {
      if (!isTurnfoldError(thrown)) throw thrown;
      setError(thrown);
    }
    setIsSending(false);
  };
  const wrong = error?.field?.replace(/^answers\./, '');
  return (
    <form class="card wait" aria-label={NAMES[waiting.for]} onSubmit={(event) => void send(event)}>
      <header class="column-head">
        <h3>{NAMES[waiting.for]}</h3>
        <p class="soft">
          since <Time at={waiting.since} />, at most until <Time at={waiting.until} />
        </p>
      </header>
      {waiting.calls.map((call) =>
        call.decision ? (
          <DecidedCall key={call.id} call={call} decision={call.decision} />
        ) : (
          <CallForm
            key={call.id}
            call={call}
            kind={waiting.for}
            draft={drafts.get(call.id) ?? EMPTY_DRAFT}
            isOff={refusal !== undefined || isSending}
            error={wrong === call.id ? error : undefined}
            command={`turnfold answer ${conversation} ${turn} ${call.id}${call.hash === undefined ? '' : ` --hash ${call.hash}`} ${waiting.for === 'approval' ? '--approve' : '--content …'}`}
            onChange={(draft) => setDrafts(new Map(drafts).set(call.id, draft))}
          />
        ),
      )}
      {error !== undefined && !waiting.calls.some(({ id }) => id === wrong) && <ErrorNote error={error} />}
      {waiting.calls.length > 0 && <WaitFoot count={count} isSending={isSending} refusal={refusal} />}
    </form>
  );
}

interface WaitFootProps {
  readonly count: number;
  readonly isSending: boolean;
  readonly refusal: string | undefined;
}

function WaitFoot({ count, isSending, refusal }: WaitFootProps) {
  const hint = useId();
  const label = count < 2 ? 'Send the answer' : `Send ${count} answers`;
  return (
    <div class="wait-foot">
      <button
        type="submit"
        class="button button-main"
        disabled={refusal !== undefined || isSending || count === 0}
        aria-describedby={hint}
      >
        {isSending ? 'Sending…' : label}
      </button>
      <p id={hint} class="hint">
        {refusal ?? 'The first answer to a call counts. The turn continues once every call has one.'}
      </p>
    </div>
  );
}

type Call = Waiting['calls'][number];

/** Shows the input that will run. It may differ from the arguments of the model. */
function CallInput({ call: { arguments: written, input = written } }: { readonly call: Call }) {
  return (
    <>
      <ShownText text={input} />
      {input !== written && (
        <details>
          <summary>The model wrote other arguments</summary>
          <ShownText text={written} />
        </details>
      )}
    </>
  );
}

interface DecidedCallProps {
  readonly call: Call;
  readonly decision: NonNullable<Call['decision']>;
}

function DecidedCall({ call, decision: { approved, at, by } }: DecidedCallProps) {
  return (
    <fieldset class="wait-call" disabled>
      <legend>
        <code>{call.name}</code>
      </legend>
      <CallInput call={call} />
      <p class="soft">
        {approved === undefined ? 'Answered' : approved ? 'Approved' : 'Denied'}
        {by === undefined ? '' : ` by ${by}`}, <Time at={at} />
      </p>
    </fieldset>
  );
}

interface CallFormProps {
  readonly call: Waiting['calls'][number];
  readonly kind: Waiting['for'];
  readonly draft: AnswerDraft;
  readonly isOff: boolean;
  readonly error: TurnfoldError | undefined;
  readonly command: string;
  readonly onChange: (draft: AnswerDraft) => void;
}

function CallForm({ call, kind, draft, isOff, error, command, onChange }: CallFormProps) {
  const isApproval = kind === 'approval';
  const [field, fault] = [useId(), useId()];
  const decide = (approved: boolean) => () => onChange({ ...draft, approved });
  return (
    <fieldset class="wait-call" disabled={isOff}>
      <legend>
        <code>{call.name}</code>
      </legend>
      <CallInput call={call} />
      {isApproval && (
        <div class="choices">
          <label class="choice">
            <input type="radio" name={field} checked={draft.approved === true} onChange={decide(true)} />
            Approve: a worker runs the call
          </label>
          <label class="choice">
            <input type="radio" name={field} checked={draft.approved === false} onChange={decide(false)} />
            Deny
          </label>
        </div>
      )}
      {(!isApproval || draft.approved === false) && (
        <label class="field">
          {isApproval ? 'Why (the model reads it)' : 'Result (the model reads it)'}
          <textarea
            rows={isApproval ? 2 : 4}
            dir="auto"
            value={draft.text}
            aria-invalid={error !== undefined}
            aria-describedby={fault}
            onInput={({ currentTarget }) => onChange({ ...draft, text: currentTarget.value })}
          />
        </label>
      )}
      {!isApproval && (
        <label class="choice">
          <input
            type="checkbox"
            checked={draft.isError}
            onChange={({ currentTarget }) => onChange({ ...draft, isError: currentTarget.checked })}
          />
          The call failed
        </label>
      )}
      <p id={fault} class="field-error" role={error === undefined ? undefined : 'alert'}>
        {error !== undefined && (
          <>
            {error.message} <code>{error.code}</code>
          </>
        )}
      </p>
      <CommandLine command={command} />
    </fieldset>
  );
}
