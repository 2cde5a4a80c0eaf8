import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { CommandLine } from '../parts/command-line.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { counted, Tokens } from '../parts/figures.tsx';
import { Tag } from '../parts/tag.tsx';
import { isTurnfoldError, newOperation, sendChange, type TurnfoldError } from '../shell/client.ts';
import { linkTo } from '../shell/router.ts';
import { SourceList } from '../version/source-list.tsx';
import { useRefusal } from '../version/use-access.ts';
import { approvalCommand, type Decision, editsOf, type Proposal, rangeOfField } from './proposals.ts';

interface ProposalFormProps {
  readonly conversation: string;
  readonly proposal: Proposal;
  readonly reload: () => void;
}

export function ProposalForm({ conversation, proposal, reload }: ProposalFormProps) {
  const [drafts, setDrafts] = useState<ReadonlyMap<string, string>>(new Map());
  const decision = useDecision(conversation, proposal, reload);
  const refusal = useRefusal('answer');
  const { error, sending, isPending, lookAgain } = decision;
  const wrong = rangeOfField(error?.field);
  const isOff = refusal !== undefined || sending !== undefined || isPending;
  return (
    <section class="proposal-form" aria-label="Decision">
      {proposal.summaries.map((summary) => (
        <ProposedSummary
          key={summary.range}
          conversation={conversation}
          summary={summary}
          draft={drafts.get(summary.range)}
          error={wrong === summary.range ? error : undefined}
          isOff={isOff}
          onEdit={(text) => setDrafts(new Map(drafts).set(summary.range, text))}
        />
      ))}
      {error !== undefined && wrong === undefined && (
        <ErrorNote error={error} {...(error.code === 'proposal_stale' && { onRetry: reload })} />
      )}
      {isPending && (
        <p class="note" role="status">
          The decision is stored and waits for a compaction worker.
          <button type="button" class="button" disabled={sending !== undefined} onClick={lookAgain}>
            Look again
          </button>
        </p>
      )}
      <DecisionButtons
        conversation={conversation}
        edits={editsOf(proposal.summaries, drafts)}
        decision={decision}
        isOff={isOff}
        refusal={refusal}
      />
    </section>
  );
}

interface DecisionButtonsProps {
  readonly conversation: string;
  readonly edits: Readonly<Record<string, string>>;
  readonly decision: Deciding;
  readonly isOff: boolean;
  readonly refusal: string | undefined;
}

function DecisionButtons({ conversation, edits, decision, isOff, refusal }: DecisionButtonsProps) {
  const [why, setWhy] = useState('');
  const hint = useId();
  const { sending, approve, reject } = decision;
  const edited = Object.keys(edits).length;
  const approveLabel = edited === 0 ? 'Approve' : `Approve with ${counted(edited, 'edit')}`;
  return (
    <div class="card decision">
      <button
        type="button"
        class="button button-main"
        disabled={isOff}
        aria-describedby={hint}
        onClick={() => approve(edits)}
      >
        {sending === 'approve' ? 'Approving…' : approveLabel}
      </button>
      <label class="field decision-why">
        Reason of a rejection (optional)
        <input
          value={why}
          maxLength={2_000}
          disabled={isOff}
          onInput={({ currentTarget }) => setWhy(currentTarget.value)}
        />
      </label>
      <button
        type="button"
        class="button button-danger"
        disabled={isOff}
        aria-describedby={hint}
        onClick={() => reject(why.trim())}
      >
        {sending === 'reject' ? 'Rejecting…' : 'Reject'}
      </button>
      <p id={hint} class="hint decision-hint">
        {refusal ?? 'An approval applies exactly these texts. A rejection changes nothing, and starts a backoff.'}
      </p>
      <CommandLine command={approvalCommand(conversation, edits)} />
      {edited > 0 && (
        <p class="hint decision-hint">
          The file for <code>--edits</code> has the edited texts as JSON:{' '}
          <CopyButton text={JSON.stringify(edits, null, 2)} what="the edited texts" />
        </p>
      )}
      <CommandLine command={`turnfold reject ${conversation}`} />
    </div>
  );
}

interface ProposedSummaryProps {
  readonly conversation: string;
  readonly summary: Proposal['summaries'][number];
  readonly draft: string | undefined;
  readonly error: TurnfoldError | undefined;
  readonly isOff: boolean;
  readonly onEdit: (text: string) => void;
}

function ProposedSummary(props: ProposedSummaryProps) {
  const { conversation, summary, draft, error, isOff, onEdit } = props;
  const { range, tokens, model, text } = summary;
  const [hasSources, setHasSources] = useState(false);
  const [from = 1, to = 1] = range.split('-').map(Number);
  const [field, fault] = [useId(), useId()];
  const isEdited = draft !== undefined && draft !== text;
  return (
    <section class="card summary-part">
      <header class="summary-head">
        <h3>
          <label for={field}>Summary of messages {range.replace('-', '–')}</label>
        </h3>
        <p>
          {isEdited && <Tag tone="note">edited</Tag>} <Tokens value={tokens} unit=" tokens" />, written by{' '}
          <code>{model}</code>
        </p>
      </header>
      <textarea
        id={field}
        class="summary-edit"
        rows={Math.min(18, Math.max(5, text.split('\n').length + 1))}
        dir="auto"
        value={draft ?? text}
        readOnly={isOff}
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : fault}
        onInput={({ currentTarget }) => onEdit(currentTarget.value)}
      />
      {error !== undefined && (
        <p id={fault} class="field-error" role="alert">
          {error.message} <code>{error.code}</code>
        </p>
      )}
      <div class="summary-foot">
        <button type="button" class="button" aria-expanded={hasSources} onClick={() => setHasSources(!hasSources)}>
          {hasSources ? 'Hide the sources' : 'Show the sources'}
        </button>
        {isEdited && (
          <button type="button" class="button" onClick={() => onEdit(text)}>
            Undo the edit
          </button>
        )}
      </div>
      {hasSources && <SourceList conversation={conversation} from={from} to={to} />}
    </section>
  );
}

/** How long the server waits for a worker to act on the decision. */
const WAIT_MS = 15_000;

interface Deciding {
  readonly sending: 'approve' | 'reject' | undefined;
  readonly error: TurnfoldError | undefined;
  /** True if the decision is stored and no worker has acted on it. */
  readonly isPending: boolean;
  readonly approve: (edits: Readonly<Record<string, string>>) => void;
  readonly reject: (reason: string) => void;
  readonly lookAgain: () => void;
}

/** A decision as it was sent. Sending it again changes nothing and returns the outcome. */
interface Sent {
  readonly verdict: 'approve' | 'reject';
  readonly body: object;
  readonly operation: string;
}

function useDecision(conversation: string, proposal: Proposal, reload: () => void): Deciding {
  const [sending, setSending] = useState<Deciding['sending']>();
  const [error, setError] = useState<TurnfoldError>();
  const [pending, setPending] = useState<Sent>();
  const { isDecided } = proposal;
  const wasDecided = useRef(isDecided);
  const send = async (sent: Sent): Promise<void> => {
    const { verdict, body, operation } = sent;
    setSending(verdict);
    setError(undefined);
    const path = ['conversations', conversation, 'proposals', proposal.proposal, verdict];
    try {
      const decision = await sendChange<Decision>(path, { ...body, waitMs: WAIT_MS }, { operation });
      setPending(decision.state === 'pending' ? sent : undefined);
      if (decision.version !== undefined) location.hash = linkTo('c', conversation, 'v', decision.version);
      else reload();
    } catch (thrown) {
      if (!isTurnfoldError(thrown)) throw thrown;
      // The server may have stored the decision even if no answer arrived.
      if (thrown.code !== 'server_unavailable') setPending(undefined);
      setError(thrown);
      // A stale proposal stays on the page, so that a person can read why the decision was refused.
      if (thrown.code !== 'proposal_stale') reload();
    }
    setSending(undefined);
  };
  const decide = (verdict: Sent['verdict'], body: object): void =>
    void send({ verdict, body, operation: newOperation() });
  const lookAgain = (): void => {
    if (pending === undefined) reload();
    else void send(pending);
  };
  useEffect(() => {
    // A worker has refused the decision. The repeated request returns the reason.
    if (wasDecided.current && !isDecided && pending !== undefined && sending === undefined) lookAgain();
    wasDecided.current = isDecided;
  }, [isDecided]);
  return {
    sending,
    error,
    isPending: isDecided || pending !== undefined,
    approve: (edits) => decide('approve', { edits }),
    reject: (reason) => decide('reject', reason === '' ? {} : { reason }),
    lookAgain,
  };
}
