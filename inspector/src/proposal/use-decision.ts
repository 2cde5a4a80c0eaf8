import { useEffect, useRef, useState } from 'preact/hooks';
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
  /** Asks what became of the stored decision. */
  readonly lookAgain: () => void;
}

/** A decision as it was sent. A repeated one changes nothing, and gets the outcome. */
interface Sent {
  readonly verdict: 'approve' | 'reject';
  readonly body: object;
  readonly operation: string;
}

/** Sends the decision on a proposal. After an approval, the page of the new version opens. */
export function useDecision(conversation: string, proposal: Proposal, reload: () => void): Deciding {
  const [sending, setSending] = useState<Deciding['sending']>();
  const [error, setError] = useState<AnswerError>();
  const [pending, setPending] = useState<Sent>();
  const { isDecided } = proposal;
  const wasDecided = useRef(isDecided);
  const send = async (sent: Sent): Promise<void> => {
    const { verdict, body, operation } = sent;
    setSending(verdict);
    setError(undefined);
    const path = pathOf('conversations', conversation, 'proposals', proposal.proposal, verdict);
    try {
      const decision = await sendChange<Decision>(path, { ...body, waitMs: WAIT_MS }, { operation });
      setPending(decision.state === 'pending' ? sent : undefined);
      if (decision.version !== undefined) location.hash = linkTo('c', conversation, 'v', decision.version);
      else reload();
    } catch (thrown) {
      if (!(thrown instanceof AnswerError)) throw thrown;
      // Without an answer, the decision may still be stored.
      if (thrown.status !== 0) setPending(undefined);
      setError(thrown);
      // The page of a stale proposal stays until a person has read why.
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
    // A worker has refused the decision: its answer says why.
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
