import { useState } from 'preact/hooks';
import { AnswerError, pathOf, sendChange } from '../shell/client.ts';
import { linkTo } from '../shell/router.ts';
import { newOperation } from '../version/operation-id.ts';
import type { Decision, Proposal } from './proposals.ts';

/** Time in ms that the server waits for a worker to act on the decision. */
const WAIT_MS = 15_000;

/** A decision that a person takes, and its outcome so far. */
export interface Deciding {
  readonly sending: 'approve' | 'reject' | undefined;
  /** Why the server or a worker refused the decision. */
  readonly error: AnswerError | undefined;
  /** True if the decision is stored and no worker has acted on it. */
  readonly isPending: boolean;
  readonly approve: (edits: Readonly<Record<string, string>>) => void;
  readonly reject: (reason: string) => void;
}

/** Sends the decision on a proposal. After an approval, the page of the new version opens. */
export function useDecision(conversation: string, proposal: Proposal, reload: () => void): Deciding {
  const [sending, setSending] = useState<Deciding['sending']>();
  const [error, setError] = useState<AnswerError>();
  const [isPending, setIsPending] = useState(proposal.isDecided);
  const decide = async (verdict: 'approve' | 'reject', body: object): Promise<void> => {
    setSending(verdict);
    setError(undefined);
    const path = pathOf('conversations', conversation, 'proposals', proposal.proposal, verdict);
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
  return {
    sending,
    error,
    isPending,
    approve: (edits) => void decide('approve', { edits }),
    reject: (reason) => void decide('reject', reason === '' ? {} : { reason }),
  };
}
