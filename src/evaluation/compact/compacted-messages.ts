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

/** A step of a compaction, with the size of the request after it. */
export interface CompactionStep {
  /** Name of the step. */
  readonly step: string;
  /** Tokens of the request. */
  readonly tokens: number;
  /** UTF-8 bytes of the request. */
  readonly bytes: number;
}

/**
 * Report of one call: its compaction, and the changes of the returned messages. Token counts are estimates of requests.
 */
export interface CompactReport {
  /** Last step that the compaction needed. `none`: this call compacted nothing. */
  readonly kind: 'none' | 'trim' | 'summarize' | 'evict';
  /** Why the call compacted. */
  readonly reasons: readonly Reason[];
  /** Tokens of a request with the given messages, or with the context of the previous call. */
  readonly tokensBefore: number;
  /** Tokens of a request with the returned messages. */
  readonly tokensAfter: number;
  /** UTF-8 bytes of the texts in a request with the returned messages. */
  readonly bytesAfter: number;
  /** Number of messages that left the context, including messages that a summary replaced. */
  readonly archived: number;
  /** Number of summaries in the compacted context. */
  readonly sequences: number;
  /** Number of messages that were removed without a summary. */
  readonly evicted: number;
  /** Number of messages that were clipped. */
  readonly clipped: number;
  /** True if messages of the retention window were removed or shortened, too. */
  readonly floorRelaxed: boolean;
  /** Steps of the compaction, in the order in which they ran. */
  readonly steps: readonly CompactionStep[];
  /** All ranges that differ from the given messages, in order. Ranges of earlier calls are included. */
  readonly ranges: readonly CompactedRange[];
  /** Places of the given messages that were not valid, or that are not counted. */
  readonly notes: readonly HistoryNote[];
  /** Errors that `summarize` threw. Summaries by rules replaced the missing summaries. */
  readonly errors: readonly unknown[];
}

/** Messages for the next request, in the format of the given messages. */
export interface CompactedMessages<Item> {
  /** The given list, if `changed` is false. Unchanged messages are the given objects. */
  readonly messages: Item[];
  /** True if the returned messages differ from the given messages. */
  readonly changed: boolean;
  /** Sizes, and what was summarized, shortened and removed. */
  readonly report: CompactReport;
  /** Value for `state` of the next call with the same conversation. */
  readonly state: CompactState;
}
