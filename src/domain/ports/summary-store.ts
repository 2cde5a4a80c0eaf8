import type { ConversationRef } from '../ids.ts';
import type { Weight } from '../message.ts';
import type { Summary } from '../version.ts';

/** An accepted summary, or the refusal of a source. */
export type SummaryRecord =
  | {
      readonly status: 'accepted';
      readonly summary: Summary;
      readonly weight: Weight;
    }
  | { readonly status: 'refused'; readonly why: string };

export type SummaryClaim =
  | { readonly status: 'claimed' }
  /** Another job works on the same source. */
  | { readonly status: 'in_flight' }
  | { readonly status: 'known'; readonly record: SummaryRecord }
  | { readonly status: 'gone' };

/** Claim of a job on a source. */
export interface SummaryLease {
  readonly conversation: ConversationRef;
  /** Pass that requested the summary. */
  readonly passId: string;
  readonly hash: string;
  readonly owner: string;
}

/** `superseded`: claim and pass no longer exist, e.g. because the conversation was created again. */
export type SummaryRecorded = 'recorded' | 'superseded' | 'gone';

/**
 * Summaries by the hash of their source, so that no source is paid for twice, in any pass. The hash covers the range,
 * its tokens in the context, and the summarizer of the policy.
 */
export interface SummaryStore {
  /** Reads the records of sources, in the order of the hashes. Undefined for a source without a record. */
  readSummaries(conversation: ConversationRef, hashes: readonly string[]): Promise<(SummaryRecord | undefined)[]>;
  /** Claims a source for 8 s, unless another job claimed it. */
  claimSummary(conversation: ConversationRef, hash: string, owner: string): Promise<SummaryClaim>;
  /** Renews a claim, every 2 s. False if the claim is lost. */
  heartbeatSummary(conversation: ConversationRef, hash: string, owner: string): Promise<boolean>;
  /**
   * Stores a record: 7 d for a summary, 1 d for a refusal. The first accepted summary stays. A lost claim is no
   * obstacle while the pass is in progress or was the last to end, because the summary is paid for.
   */
  recordSummary(lease: SummaryLease, record: SummaryRecord): Promise<SummaryRecorded>;
  releaseSummary(conversation: ConversationRef, hash: string, owner: string): Promise<void>;
  readPart(conversation: ConversationRef, key: string): Promise<string | undefined>;
  /** Stores a part for 7 d under the same conditions as the summary. The first value of a key stays. */
  recordPart(lease: SummaryLease, key: string, text: string): Promise<SummaryRecorded>;
}
