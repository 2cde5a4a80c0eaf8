import { useId, useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { AnswerError, pathOf, sendChange } from '../shell/client.ts';
import { linkTo } from '../shell/router.ts';
import { newOperation } from '../version/operation-id.ts';
import { useRefusal } from '../version/use-access.ts';
import { type Decision, editsOf, type Proposal, rangeOfField } from './proposals.ts';
import { ProposedSummary } from './proposed-summary.tsx';

/** Time in ms that the server waits for a worker to act on the decision. */
const WAIT_MS = 15_000;

export interface ProposalFormProps {
  readonly conversation: string;
  readonly proposal: Proposal;
  /** Reads the proposal again. */
  readonly reload: () => void;
}

type Verdict = 'approve' | 'reject';

/** The texts of a proposal, which a person may edit, and the decision. */
export function ProposalForm({ conversation, proposal, reload }: ProposalFormProps) {
  const [drafts, setDrafts] = useState<ReadonlyMap<string, string>>(new Map());
  const [why, setWhy] = useState('');
  const [sending, setSending] = useState<Verdict>();
  const [error, setError] = useState<AnswerError>();
  const [isPending, setIsPending] = useState(proposal.isDecided);
  const refusal = useRefusal('answer');
  const reason = useId();
  const edits = editsOf(proposal.summaries, drafts);
  const edited = Object.keys(edits).length;
  const decide = async (verdict: Verdict): Promise<void> => {
    setSending(verdict);
    setError(undefined);
    const path = pathOf('conversations', conversation, 'proposals', proposal.proposal, verdict);
    const body = verdict === 'approve' ? { edits } : { ...(why.trim() !== '' && { reason: why.trim() }) };
    try {
      const decision = await sendChange<Decision>(path, { ...body, waitMs: WAIT_MS }, { operation: newOperation() });
      if (decision.version !== undefined) location.hash = linkTo('c', conversation, 'v', decision.version);
      else if (decision.state === 'pending') setIsPending(true);
      else reload();
    } catch (thrown) {
      if (!(thrown instanceof AnswerError)) throw thrown;
      setError(thrown);
    }
    setSending(undefined);
  };
  const wrong = rangeOfField(error?.field);
  const isOff = refusal !== undefined || sending !== undefined || isPending;
  const commands = [`turnfold approve ${conversation}`, `turnfold reject ${conversation}`];
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
      {error !== undefined && wrong === undefined && <DecisionError error={error} reload={reload} />}
      {isPending && (
        <p class="note" role="status">
          The decision is stored and waits for a compaction worker.
          <button type="button" class="button" onClick={reload}>
            Look again
          </button>
        </p>
      )}
      <div class="card decision">
        <button
          type="button"
          class="button button-main"
          disabled={isOff}
          aria-describedby={reason}
          onClick={() => void decide('approve')}
        >
          {approveLabel(sending, edited)}
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
          aria-describedby={reason}
          onClick={() => void decide('reject')}
        >
          {sending === 'reject' ? 'Rejecting…' : 'Reject'}
        </button>
        <p id={reason} class="hint decision-hint">
          {refusal ?? 'An approval applies exactly these texts. A rejection changes nothing, and starts a backoff.'}
        </p>
        {commands.map((command) => (
          <p key={command} class="command">
            <code>{command}</code>
            <CopyButton text={command} what="the command" />
          </p>
        ))}
      </div>
    </section>
  );
}

function approveLabel(sending: Verdict | undefined, edited: number): string {
  if (sending === 'approve') return 'Approving…';
  return edited === 0 ? 'Approve' : `Approve with ${edited} ${edited === 1 ? 'edit' : 'edits'}`;
}

function DecisionError({ error, reload }: { readonly error: AnswerError; readonly reload: () => void }) {
  return <ErrorNote error={error} {...(error.code === 'proposal_stale' && { onRetry: reload })} />;
}
