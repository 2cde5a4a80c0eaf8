import type { Reason } from '../compaction/thresholds.ts';
import type { Told } from '../durability.ts';
import type { ConversationRef } from '../ids.ts';
import type { ApprovalRefusal, Proposal, Verdict } from '../proposal.ts';
import type { Forking } from './version-store.ts';

/** A proposal that waits, or on which somebody has decided and no worker has acted yet. */
export interface WaitingProposal {
  readonly proposal: Proposal;
  readonly passId: string;
  /** of the pass, those included that came while it waits */
  readonly reasons: readonly Reason[];
  /** ms since epoch, by the store's clock */
  readonly proposedAt: number;
  readonly expiresAt: number;
  readonly isDecided: boolean;
}

export interface Decision {
  readonly conversation: ConversationRef;
  /** the same id again changes nothing and answers the same */
  readonly operation: string;
  /** id of the proposal that was looked at */
  readonly proposal: string;
  readonly verdict: Verdict;
  /** id of the wake to be recorded where one is needed */
  readonly wake: string;
}

/** What became of a decision. */
export type DecisionAnswer =
  /** a worker has yet to act on it */
  | { readonly status: 'pending' }
  | { readonly status: 'approved'; readonly version: number }
  | { readonly status: 'rejected' }
  | { readonly status: 'refused'; readonly refusal: ApprovalRefusal }
  /** before a worker acted on it the pass went on without it, or ended otherwise */
  | { readonly status: 'superseded' };

export type DecisionResult =
  | { readonly status: 'decided'; readonly needsWake: boolean }
  /** sent again after a worker has acted on it */
  | { readonly status: 'concluded'; readonly answer: DecisionAnswer }
  /** nothing waits under that id any more: it was superseded, decided, has expired, or never was there */
  | { readonly status: 'stale'; readonly why: 'unknown' | 'decided' | 'expired' | 'version_changed' }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

/** What services need of proposals. */
export interface ProposalStore {
  readProposal(conversation: ConversationRef): Promise<WaitingProposal | undefined>;
  /** stores the verdict with the pass, for a compaction worker to act on */
  decideProposal(decision: Decision): Promise<Told<DecisionResult>>;
  /** undefined: no such decision, or more than a day ago */
  readDecision(conversation: ConversationRef, operation: string): Promise<DecisionAnswer | undefined>;
}
