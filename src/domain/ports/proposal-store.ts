import type { Reason } from '../compaction/thresholds.ts';
import type { Acknowledged } from '../durability.ts';
import type { ConversationRef } from '../ids.ts';
import type { ApprovalRefusal, Proposal, Verdict } from '../proposal.ts';
import type { Forking, OtherPayload } from './version-store.ts';

/** A proposed version that waits for a person's decision, or whose decision no worker has carried out yet. */
export interface WaitingProposal {
  readonly proposal: Proposal;
  readonly passId: string;
  /** Reasons for the compaction pass, including those added while it waits. */
  readonly reasons: readonly Reason[];
  /** Time of the proposal in ms since epoch, by the clock of Redis. */
  readonly proposedAt: number;
  readonly expiresAt: number;
  readonly isDecided: boolean;
}

export interface Decision {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. A repeated name writes nothing and gets the first answer (invariant I5). */
  readonly operation: string;
  /** Id of the proposal that the person saw. */
  readonly proposal: string;
  readonly verdict: Verdict;
  /** Id of the queue job to add if the answer has `needsWake`. */
  readonly wake: string;
}

/** Outcome of a decision by a person. */
export type DecisionAnswer =
  /** No worker has carried out the decision yet. */
  | { readonly status: 'pending' }
  | { readonly status: 'approved'; readonly version: number }
  | { readonly status: 'rejected' }
  | { readonly status: 'refused'; readonly refusal: ApprovalRefusal }
  /** The compaction pass continued or ended before a worker could carry out the decision. */
  | { readonly status: 'superseded' };

export type DecisionResult =
  | { readonly status: 'decided'; readonly needsWake: boolean }
  /** The same decision was sent before, and a worker has already carried it out. */
  | { readonly status: 'concluded'; readonly answer: DecisionAnswer }
  /** The proposal is not open any more: it was replaced, decided or expired. Or it never existed. */
  | { readonly status: 'stale'; readonly why: 'unknown' | 'decided' | 'expired' | 'version_changed' }
  | { readonly status: 'not_found' | 'gone' }
  | OtherPayload
  | Forking;

/** Stores proposals and decisions, for client calls. */
export interface ProposalStore {
  /** @returns undefined if no proposal waits for a decision */
  readProposal(conversation: ConversationRef): Promise<WaitingProposal | undefined>;
  /** Stores a person's decision about a proposal. A compaction worker carries the decision out. */
  decideProposal(decision: Decision): Promise<Acknowledged<DecisionResult>>;
  /** @returns undefined if the decision does not exist or is more than a day old */
  readDecision(conversation: ConversationRef, operation: string): Promise<DecisionAnswer | undefined>;
}
