import type { Reason } from '../../domain/pass.ts';
import type { HistoryNote } from '../../wire/histories/notes.ts';
import type { CompactState } from './state.ts';

/** A range of the given messages that the context does not show as they were given. */
export interface CompactedRange {
  /** Index of the first given message. */
  readonly from: number;
  /** Index of the last given message. */
  readonly to: number;
  /** How the context shows the range. `evicted`: not at all. */
  readonly kind: 'summary' | 'masked' | 'clipped' | 'excerpt' | 'evicted';
  /** Summarizer of a summary: `structural`, or `caller` for the function `summarize`. */
  readonly by?: string;
}

/** A means of compaction that was used, with the size of the request after it. */
export interface CompactionStep {
  /** Name of the means. */
  readonly step: string;
  /** Tokens of the request. */
  readonly tokens: number;
  /** UTF-8 bytes of the request. */
  readonly bytes: number;
}

/** Report of one call: its compaction, and how the returned messages differ. Token counts are estimates of requests. */
export interface CompactReport {
  /** The last means that the compaction needed. `none`: this call compacted nothing. */
  readonly kind: 'none' | 'trim' | 'summarize' | 'evict';
  /** Why the call compacted. */
  readonly reasons: readonly Reason[];
  /** Tokens of a request with the given messages, or with the context of the call before. */
  readonly tokensBefore: number;
  /** Tokens of a request with the returned messages. */
  readonly tokensAfter: number;
  /** UTF-8 bytes of the texts of that request. */
  readonly bytesAfter: number;
  /** Number of messages that left the context, those that a summary replaced included. */
  readonly archived: number;
  /** Number of summaries in the compacted context. */
  readonly sequences: number;
  /** Number of messages that were removed without a summary. */
  readonly evicted: number;
  /** Number of messages that were clipped. */
  readonly clipped: number;
  /** True if messages of the retention window were removed or shortened, too. */
  readonly floorRelaxed: boolean;
  /** Means of the compaction, in the order in which they were used. */
  readonly steps: readonly CompactionStep[];
  /** All ranges that differ from the given messages, also those of earlier calls, in order. */
  readonly ranges: readonly CompactedRange[];
  /** Places of the given messages that were not valid, or that are not counted. */
  readonly notes: readonly HistoryNote[];
  /** Errors that `summarize` threw. Rules wrote the summaries in its place. */
  readonly errors: readonly unknown[];
}

/** Messages for the next request, in the format of the given ones. */
export interface CompactedMessages<Item> {
  /** The given list, if `changed` is false. Messages that stay are the given objects. */
  readonly messages: Item[];
  /** True if the returned messages are not the given ones. */
  readonly changed: boolean;
  /** Sizes, and what was summarized, shortened and removed. */
  readonly report: CompactReport;
  /** Value for `state` of the next call with the same conversation. */
  readonly state: CompactState;
}
