import type { PassOutcome, Reason } from './pass.ts';
import type { ApprovalRefusal } from './proposal.ts';

export const SUMMARY_OUTCOMES = ['written', 'known', 'refused', 'failed', 'superseded'] as const;
export type SummaryOutcome = (typeof SUMMARY_OUTCOMES)[number];

/**
 * Why a turn requested no soft pass at a threshold. The last pass found nothing to remove, the last three gained too
 * little, or a pass would discard the model's reasoning between tool calls.
 */
export const BACKOFF_CAUSES = ['nothing_to_do', 'no_gain', 'thinking'] as const;
export type BackoffCause = (typeof BACKOFF_CAUSES)[number];

/**
 * - `summaries_missing`: ranges keep their messages, because their summaries were not written.
 * - `evicted`: messages were removed without a summary.
 * - `floor_relaxed`: fewer messages than `retentionWindow` remain.
 * - `taken_over`: a turn ended the pass itself, because it could not wait longer.
 */
export const PASS_FALLBACKS = ['summaries_missing', 'evicted', 'floor_relaxed', 'taken_over'] as const;
export type PassFallback = (typeof PASS_FALLBACKS)[number];

/** Measured result of a pass. Two results for the same pass can be compared. */
export interface PassMeasure {
  /** `proposed`: the pass waits for a person's decision. */
  readonly outcome: PassOutcome['kind'] | 'proposed';
  readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Summaries in the context after the pass. */
  readonly summaries: number;
  /** Tokens of messages that were removed without a new summary. */
  readonly evictedTokens: number;
}

export type PassEvent =
  | RefusalEvent
  | {
      readonly type: 'pass_requested';
      readonly reasons: readonly Reason[];
      /** True if a pass in progress received the reasons, so that no new pass began. */
      readonly isJoined: boolean;
    }
  | {
      readonly type: 'pass_ended';
      readonly outcome: PassOutcome['kind'] | 'superseded';
      readonly code?: string;
      readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
      readonly reasons: readonly Reason[];
      /** Ms from the request to the end or the proposal. Absent if no pass ran, or no worker ended it. */
      readonly durationMs?: number;
      readonly version?: number;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      /** Messages that the pass removed from the context. */
      readonly archived?: number;
      /** Unchanged start of the context, which a provider can read from its cache. */
      readonly prefixTokens?: number;
      /** Message ranges that were to be summarized. */
      readonly sequences: number;
      /** Ways in which the pass achieved less than planned. */
      readonly fallbacks?: readonly PassFallback[];
      /** True for the third pass in a row that gained too little. Soft passes stop until the context has grown. */
      readonly startsBackoff?: boolean;
    }
  /** A threshold was reached, but a pass would gain nothing now. */
  | { readonly type: 'pass_backed_off'; readonly why: BackoffCause }
  /** A turn ended the pass itself, because its wait timed out or earlier passes left the context too large. */
  | { readonly type: 'pass_taken_over' }
  | {
      readonly type: 'pass_proposed';
      readonly strategy: 'trim' | 'summarize' | 'evict';
      readonly reasons: readonly Reason[];
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** Messages that would leave the context. */
      readonly archived: number;
      /** Message ranges that were summarized for the proposal. */
      readonly sequences: number;
    }
  /** turnfold could not carry out a person's approval. The proposal stays open. */
  | {
      readonly type: 'approval_refused';
      readonly code: ApprovalRefusal['code'];
      /** Path of the wrong value in the approval. */
      readonly field: string;
      readonly message: string;
    }
  | {
      readonly type: 'pass_fanned_out';
      readonly jobs: number;
      /** Message ranges that the compaction plan summarizes. */
      readonly sequences: number;
    }
  /** A shadow policy was measured on the context of the policy in use. */
  | {
      readonly type: 'pass_shadowed';
      /** Result of the policy in use. */
      readonly live: PassMeasure;
      /** Absent if measuring failed. */
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
      /** Earlier models' reasons to refuse, without contents. Failed calls have their own events. */
      readonly why?: string;
    };

/**
 * `check`: turnfold refused the format before the commit. `provider`: a provider refused it later, and the previous
 * version came back.
 */
type RefusalEvent = {
  readonly type: 'version_refused';
  /** Origin of the refusal: turnfold's check before the commit, or the provider. */
  readonly by: 'check' | 'provider';
  readonly version: number;
  /** Code of the provider, or names of the broken rules. */
  readonly codes: readonly string[];
  readonly message: string;
  /** Outline of the request as JSON, cut to the refused entries. Enough to reproduce the refusal. */
  readonly form?: string;
};
