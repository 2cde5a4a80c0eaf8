import type { PassOutcome, Reason } from './pass.ts';
import type { ApprovalRefusal } from './proposal.ts';

export const SUMMARY_OUTCOMES = ['written', 'known', 'refused', 'failed', 'superseded'] as const;
export type SummaryOutcome = (typeof SUMMARY_OUTCOMES)[number];

/**
 * Why a turn requested no soft compaction pass although a threshold was reached. `nothing_to_do`: the last pass found
 * nothing to remove. `no_gain`: the last three passes gained too little. `thinking`: the model is reasoning between
 * tool calls, and compaction would discard that reasoning.
 */
export const BACKOFF_CAUSES = ['nothing_to_do', 'no_gain', 'thinking'] as const;
export type BackoffCause = (typeof BACKOFF_CAUSES)[number];

/**
 * How a compaction pass achieved less than planned.
 * - `summaries_missing`: some ranges keep their messages, because their summaries were not written.
 * - `evicted`: messages were removed without a summary.
 * - `floor_relaxed`: fewer messages than `retentionWindow` remain.
 * - `taken_over`: a turn ended the pass itself, because it could not wait longer.
 */
export const PASS_FALLBACKS = ['summaries_missing', 'evicted', 'floor_relaxed', 'taken_over'] as const;
export type PassFallback = (typeof PASS_FALLBACKS)[number];

/** How far a compaction policy reduces a context. Two results for the same compaction pass can be compared. */
export interface PassMeasure {
  /** How the compaction pass ended. `proposed`: it waits for a person's decision. */
  readonly outcome: PassOutcome['kind'] | 'proposed';
  readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of summaries in the context after the compaction pass. */
  readonly summaries: number;
  /** Tokens of messages and old summaries that were removed without a new summary for them. */
  readonly evictedTokens: number;
}

export type PassEvent =
  | RefusalEvent
  /** A compaction pass was requested. If one is already in progress, it receives the reasons instead. */
  | {
      readonly type: 'pass_requested';
      readonly reasons: readonly Reason[];
      /** True if a compaction pass that was already in progress received the reasons. */
      readonly isJoined: boolean;
    }
  | {
      readonly type: 'pass_ended';
      readonly outcome: PassOutcome['kind'] | 'superseded';
      readonly code?: string;
      readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
      readonly reasons: readonly Reason[];
      /**
       * Milliseconds from the request to the end of the compaction pass, or to its proposal. Absent if no pass ran, or
       * if no worker ended it.
       */
      readonly durationMs?: number;
      readonly version?: number;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      /** Number of messages that the compaction pass removed from the context. */
      readonly archived?: number;
      /** Tokens of the start of the context that stay unchanged, so that a provider can read them from its cache. */
      readonly prefixTokens?: number;
      /** Number of message ranges that were to be summarized. */
      readonly sequences: number;
      /** Ways in which the compaction pass achieved less than planned. */
      readonly fallbacks?: readonly PassFallback[];
      /**
       * True if this was the third compaction pass in a row that gained too little. Soft passes then stop until the
       * context has grown.
       */
      readonly startsBackoff?: boolean;
    }
  /** A threshold was reached, but the turn requested no compaction pass, because a pass would gain nothing now. */
  | { readonly type: 'pass_backed_off'; readonly why: BackoffCause }
  /**
   * A turn ended the compaction pass itself, with the summaries that were ready. Either its wait timed out, or earlier
   * passes left the context too large.
   */
  | { readonly type: 'pass_taken_over' }
  /** A compaction pass proposed a version, which waits for a person's decision. */
  | {
      readonly type: 'pass_proposed';
      readonly strategy: 'trim' | 'summarize' | 'evict';
      readonly reasons: readonly Reason[];
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** Number of messages that would leave the context. */
      readonly archived: number;
      /** Number of message ranges that were summarized for the proposal. */
      readonly sequences: number;
    }
  /** turnfold could not carry out a person's approval. The proposal stays open. */
  | {
      readonly type: 'approval_refused';
      readonly code: ApprovalRefusal['code'];
      /** Path of the wrong value in the approval. */
      readonly field: string;
      /** Explanation for a person, without contents. */
      readonly message: string;
    }
  | {
      readonly type: 'pass_fanned_out';
      readonly jobs: number;
      /** Number of message ranges that the compaction plan summarizes. */
      readonly sequences: number;
    }
  /** A shadow policy was measured on the same context as the policy in use. */
  | {
      readonly type: 'pass_shadowed';
      /** Result of the policy in use. */
      readonly live: PassMeasure;
      /** Result that the shadow policy would have had. Absent if measuring it failed. */
      readonly shadow?: PassMeasure;
    }
  | {
      readonly type: 'summary_ended';
      readonly outcome: SummaryOutcome;
      readonly durationMs: number;
      readonly sourceTokens: number;
      readonly tokens?: number;
      /** Present if a new summary was written. */
      readonly written?: {
        /** Model that wrote the summary. */
        readonly by: string;
        /** True if another model was tried first and wrote no summary. */
        readonly isFallback: boolean;
      };
      /**
       * Reasons for which earlier models refused to summarize, without contents. Failed calls have their own events.
       */
      readonly why?: string;
    };

/**
 * The message format of a compacted context was refused. `check`: turnfold's own check before the commit refused it, so
 * no version was made. `provider`: a provider refused a committed version, and the version before it replaced it.
 */
type RefusalEvent = {
  readonly type: 'version_refused';
  /** Origin of the refusal: turnfold's check before the commit, or the provider. */
  readonly by: 'check' | 'provider';
  readonly version: number;
  /** Error code of the provider, or names of the broken message-format rules. */
  readonly codes: readonly string[];
  /** Explanation for a person, without contents. */
  readonly message: string;
  /** Outline of the request as JSON, cut to the refused entries. The outline is enough to reproduce the refusal. */
  readonly form?: string;
};
