import type { ConversationRef } from '../ids.ts';
import type { Weight } from '../message.ts';
import type { TurnUsage } from '../turn.ts';
import type { Summary } from '../version.ts';

/** A finished summary, or the result that a range cannot be summarized. */
export type SummaryRecord =
  | {
      readonly status: 'accepted';
      readonly summary: Summary;
      readonly weight: Weight;
    }
  | { readonly status: 'refused'; readonly why: string };

/** The result of a job, with what its model calls used. */
export type PaidRecord = SummaryRecord & { readonly usage?: TurnUsage };

export type SummaryClaim =
  | { readonly status: 'claimed' }
  /** Another job is summarizing the same messages. */
  | { readonly status: 'in_flight' }
  | { readonly status: 'known'; readonly record: SummaryRecord }
  | { readonly status: 'gone' };

/** Proof that a job may summarize a range, until its claim expires. */
export interface SummaryLease {
  readonly conversation: ConversationRef;
  /** Compaction pass that requested the summary. */
  readonly passId: string;
  readonly hash: string;
  readonly owner: string;
}

/**
 * `superseded`: neither the claim nor the compaction pass exists any more, e.g. because the conversation was erased.
 */
export type SummaryRecorded = 'recorded' | 'superseded' | 'gone';

/**
 * Stores summaries by the hash of their source, so that no compaction pass pays for the same summary twice. The hash
 * covers the range of messages, its tokens in the context, and the configured summarizer.
 */
export interface SummaryStore {
  /** Reads the stored results for these hashes, in the same order. Undefined where nothing is stored. */
  readSummaries(conversation: ConversationRef, hashes: readonly string[]): Promise<(SummaryRecord | undefined)[]>;
  /** Claims the right to summarize a range for 8 s, unless another job has claimed it. */
  claimSummary(conversation: ConversationRef, hash: string, owner: string): Promise<SummaryClaim>;
  /** Renews a claim on a range. Call it every 2 s. Returns false if the claim is lost. */
  heartbeatSummary(conversation: ConversationRef, hash: string, owner: string): Promise<boolean>;
  /**
   * Stores the result of a job: a summary for 7 days, a refusal for 1 day. The first stored summary is never replaced.
   * A job whose claim expired may still store its result while its compaction pass is the latest, because the result is
   * paid for. The usage is added to the sums of the conversation and its tenant, once.
   */
  recordSummary(lease: SummaryLease, record: PaidRecord): Promise<SummaryRecorded>;
  releaseSummary(conversation: ConversationRef, hash: string, owner: string): Promise<void>;
  readPart(conversation: ConversationRef, key: string): Promise<string | undefined>;
  /**
   * Stores a finished part of a summary for 7 days, under the same conditions as a whole summary. The first value of a
   * key is never replaced.
   */
  recordPart(lease: SummaryLease, key: string, text: string): Promise<SummaryRecorded>;
}
