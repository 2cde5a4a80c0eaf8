import type { ConversationRef } from '../ids.ts';
import type { Weight } from '../message.ts';
import type { Checkpoint } from '../version.ts';

/** A summary that was accepted, or that a source will not get. */
export type SummaryRecord =
  | {
      readonly status: 'accepted';
      readonly checkpoint: Checkpoint;
      /** of the checkpoint as it is rendered */
      readonly weight: Weight;
    }
  | { readonly status: 'refused'; readonly why: string };

export type SummaryClaim =
  | { readonly status: 'claimed' }
  /** another job works on the same source */
  | { readonly status: 'in_flight' }
  | { readonly status: 'known'; readonly record: SummaryRecord }
  | { readonly status: 'gone' };

/**
 * Summaries by content: a source that was paid for once is not paid for again, whichever pass asks.
 * The key is the hash of source, policy, prompt, model and cap.
 */
export interface SummaryStore {
  readSummaries(conversation: ConversationRef, hashes: readonly string[]): Promise<(SummaryRecord | undefined)[]>;
  /** NX, for 8 s */
  claimSummary(conversation: ConversationRef, hash: string, owner: string): Promise<SummaryClaim>;
  /** beaten every 2 s; false: the claim is lost */
  beatSummary(conversation: ConversationRef, hash: string, owner: string): Promise<boolean>;
  /** kept 7 d where accepted, 1 d where refused */
  recordSummary(conversation: ConversationRef, hash: string, record: SummaryRecord): Promise<'recorded' | 'gone'>;
  releaseSummary(conversation: ConversationRef, hash: string, owner: string): Promise<void>;
  /** the text of a part of a summary that is not finished yet */
  readPart(conversation: ConversationRef, key: string): Promise<string | undefined>;
  /** kept 7 d; the first under a key stays */
  recordPart(conversation: ConversationRef, key: string, text: string): Promise<'recorded' | 'gone'>;
}
