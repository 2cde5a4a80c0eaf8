import type { Reason } from '../compaction/thresholds.ts';
import type { Acknowledged } from '../durability.ts';
import type { ConversationRef } from '../ids.ts';
import type { ApprovalRefusal, Proposal, Verdict } from '../proposal.ts';
import type { Forking } from './version-store.ts';

/** A proposal that waits for a decision, or whose decision no worker has carried out yet. */
export interface WaitingProposal {
  readonly proposal: Proposal;
  readonly passId: string;
  /** Reasons of the pass, including those that were added during the wait. */
  readonly reasons: readonly Reason[];
  /** Time of the proposal in ms since epoch, by the store's clock. */
  readonly proposedAt: number;
  readonly expiresAt: number;
  readonly isDecided: boolean;
}

export interface Decision {
  readonly conversation: ConversationRef;
  /** Operation id. A repeated id changes nothing and returns the same answer (I5). */
  readonly operation: string;
  /** Id of the proposal that the person saw. */
  readonly proposal: string;
  readonly verdict: Verdict;
  /** Id of the wake that is recorded if one is needed. */
  readonly wake: string;
}

/** Result of a decision. */
export type DecisionAnswer =
  /** No worker has acted on the decision yet. */
  | { readonly status: 'pending' }
  | { readonly status: 'approved'; readonly version: number }
  | { readonly status: 'rejected' }
  | { readonly status: 'refused'; readonly refusal: ApprovalRefusal }
  /** The pass continued without the decision, or ended otherwise, before a worker acted on it. */
  | { readonly status: 'superseded' };

export type DecisionResult =
  | { readonly status: 'decided'; readonly needsWake: boolean }
  /** The decision was repeated after a worker acted on it. */
  | { readonly status: 'concluded'; readonly answer: DecisionAnswer }
  /** No proposal with that id is open any more. It was superseded, decided or expired, or it never existed. */
  | { readonly status: 'stale'; readonly why: 'unknown' | 'decided' | 'expired' | 'version_changed' }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

/** Proposals, for services. */
export interface ProposalStore {
  /** @returns undefined if no proposal waits */
  readProposal(conversation: ConversationRef): Promise<WaitingProposal | undefined>;
  /** Stores the verdict with the pass. A compaction worker carries it out. */
  decideProposal(decision: Decision): Promise<Acknowledged<DecisionResult>>;
  /** @returns undefined if there is no such decision, or if it is more than a day old */
  readDecision(conversation: ConversationRef, operation: string): Promise<DecisionAnswer | undefined>;
}
