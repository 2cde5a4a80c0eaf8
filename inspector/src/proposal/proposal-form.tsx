import { useId, useState } from 'preact/hooks';
import { CommandLine } from '../parts/command-line.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { useRefusal } from '../version/use-access.ts';
import { approvalCommand, editsOf, type Proposal, rangeOfField } from './proposals.ts';
import { ProposedSummary } from './proposed-summary.tsx';
import { type Deciding, useDecision } from './use-decision.ts';

export interface ProposalFormProps {
  readonly conversation: string;
  readonly proposal: Proposal;
  /** Reads the proposal again. */
  readonly reload: () => void;
}

/** The texts of a proposal, which a person may edit, and the decision. */
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
  const approveLabel = edited === 0 ? 'Approve' : `Approve with ${edited} ${edited === 1 ? 'edit' : 'edits'}`;
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
