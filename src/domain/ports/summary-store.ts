import type { ConversationRef } from '../ids.ts';
import type { Weight } from '../message.ts';
import type { Summary } from '../version.ts';

/** A summary that was accepted, or that a source will not get. */
export type SummaryRecord =
  | {
      readonly status: 'accepted';
      readonly summary: Summary;
      /** of the summary as it is rendered */
      readonly weight: Weight;
    }
  | { readonly status: 'refused'; readonly why: string };

export type SummaryClaim =
  | { readonly status: 'claimed' }
  /** another job works on the same source */
  | { readonly status: 'in_flight' }
  | { readonly status: 'known'; readonly record: SummaryRecord }
  | { readonly status: 'gone' };

/** A job at work on a source that it has claimed. */
export interface SummaryLease {
  readonly conversation: ConversationRef;
  /** that asked for it */
  readonly passId: string;
  readonly hash: string;
  readonly owner: string;
}

/** `superseded`: neither the claim nor the pass is there any more, as where another conversation was made under the id */
export type SummaryRecorded = 'recorded' | 'superseded' | 'gone';

/**
 * Summaries by what they are made from and how: a source that was paid for once is not paid for again, whichever pass asks.
 * A hash is that of the range, of the tokens that stand for it in the context, and of the policy's summarizer.
 */
export interface SummaryStore {
  readSummaries(conversation: ConversationRef, hashes: readonly string[]): Promise<(SummaryRecord | undefined)[]>;
  /** NX, for 8 s */
  claimSummary(conversation: ConversationRef, hash: string, owner: string): Promise<SummaryClaim>;
  /** renewed every 2 s; false: the claim is lost */
  heartbeatSummary(conversation: ConversationRef, hash: string, owner: string): Promise<boolean>;
  /**
   * Kept 7 d where accepted, 1 d where refused; the first accepted one stays. It was paid for, so a claim that is lost does
   * not matter while the pass is in progress or the one that ended last.
   */
  recordSummary(lease: SummaryLease, record: SummaryRecord): Promise<SummaryRecorded>;
  releaseSummary(conversation: ConversationRef, hash: string, owner: string): Promise<void>;
  /** the text of a part of a summary that is not finished yet */
  readPart(conversation: ConversationRef, key: string): Promise<string | undefined>;
  /** kept 7 d, for who may record the summary; the first under a key stays */
  recordPart(lease: SummaryLease, key: string, text: string): Promise<SummaryRecorded>;
}
