import type { Reason } from './compaction/thresholds.ts';
import type { PassOutcome } from './pass.ts';
import type { ApprovalRefusal } from './proposal.ts';

export const SUMMARY_OUTCOMES = ['written', 'known', 'refused', 'failed', 'superseded'] as const;
export type SummaryOutcome = (typeof SUMMARY_OUTCOMES)[number];

/**
 * Why a turn requested no soft pass although it had a reason. `nothing_to_do`: the last pass found nothing to do.
 * `no_gain`: three passes gained too little. `thinking`: the turn thinks between its calls, and a pass would have to
 * wait for its answer.
 */
export const BACKOFF_CAUSES = ['nothing_to_do', 'no_gain', 'thinking'] as const;
export type BackoffCause = (typeof BACKOFF_CAUSES)[number];

/**
 * How a pass achieved less than it planned. `summaries_missing`: some sequences keep their messages. `evicted`: no
 * summary came, so messages were evicted. `floor_relaxed`: less than the retention window is left. `taken_over`: a turn
 * ended the pass itself.
 */
export const PASS_FALLBACKS = ['summaries_missing', 'evicted', 'floor_relaxed', 'taken_over'] as const;
export type PassFallback = (typeof PASS_FALLBACKS)[number];

/** Result of a policy for a context. Results for the same pass can be compared. */
export interface PassMeasure {
  /** How the pass ended. `proposed`: it waits for a person's decision. */
  readonly outcome: PassOutcome['kind'] | 'proposed';
  readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Summaries in the context after the pass. */
  readonly summaries: number;
  /** Tokens of messages and summaries that were removed without a summary in their place. */
  readonly evictedTokens: number;
}

export type PassEvent =
  | RefusalEvent
  /** A pass was requested. A pass in progress receives the reasons instead. */
  | {
      readonly type: 'pass_requested';
      readonly reasons: readonly Reason[];
      /** True if a pass in progress received the reasons. */
      readonly isJoined: boolean;
    }
  | {
      readonly type: 'pass_ended';
      readonly outcome: PassOutcome['kind'] | 'superseded';
      readonly code?: string;
      readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
      readonly reasons: readonly Reason[];
      /**
       * Milliseconds from the request to the end, or to the proposal under review. Absent if no pass was made, or none
       * was ended by a worker.
       */
      readonly durationMs?: number;
      readonly version?: number;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      /** Messages that left the context. */
      readonly archived?: number;
      /** Sequences that were to be summarized. */
      readonly sequences: number;
      /** Ways in which the pass achieved less than it planned. */
      readonly fallbacks?: readonly PassFallback[];
      /** True for the third pass in a row that gained too little: no soft pass until the context has grown. */
      readonly startsBackoff?: boolean;
    }
  /** A turn found a reason but requested no pass, because a pass would gain nothing now. */
  | { readonly type: 'pass_backed_off'; readonly why: BackoffCause }
  /**
   * A turn ends the pass itself with the summaries so far: its deadline passed, or earlier passes did not settle the
   * size.
   */
  | { readonly type: 'pass_taken_over' }
  /** A pass under review waits for a person's decision on its version. */
  | {
      readonly type: 'pass_proposed';
      readonly strategy: 'trim' | 'summarize' | 'evict';
      readonly reasons: readonly Reason[];
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** Messages that would leave the context. */
      readonly archived: number;
      /** Sequences that were summarized. */
      readonly sequences: number;
    }
  /** An approval could not be carried out. The proposal stays open. */
  | {
      readonly type: 'approval_refused';
      readonly code: ApprovalRefusal['code'];
      /** Part of the approval at fault. */
      readonly field: string;
      /** Explanation for a person, without contents. */
      readonly message: string;
    }
  | {
      readonly type: 'pass_fanned_out';
      readonly jobs: number;
      /** Sequences to be summarized. */
      readonly sequences: number;
    }
  /** A second policy was measured at a pass of the live policy. */
  | {
      readonly type: 'pass_shadowed';
      /** Result of the live policy. */
      readonly live: PassMeasure;
      /** Result that the second policy would have had. Absent if its measurement failed. */
      readonly shadow?: PassMeasure;
    }
  | {
      readonly type: 'summary_ended';
      readonly outcome: SummaryOutcome;
      readonly durationMs: number;
      readonly sourceTokens: number;
      readonly tokens?: number;
      /** Origin of a written summary. */
      readonly written?: {
        /** Model that wrote the summary. */
        readonly by: string;
        /** True if another model of the chain was tried first. */
        readonly isFallback: boolean;
      };
      /** Refusals of the chain's models with their reasons, without contents. Failures have events of their own. */
      readonly why?: string;
    };

/**
 * A refused form of a context. `check`: our own check before a commit refused it, and the version was not made.
 * `provider`: a provider refused a committed version, and its parent replaced it.
 */
type RefusalEvent = {
  readonly type: 'version_refused';
  /** Origin of the refusal: our check before the commit, or the provider. */
  readonly by: 'check' | 'provider';
  readonly version: number;
  /** Error code of the provider, or names of the broken rules. */
  readonly codes: readonly string[];
  /** Explanation for a person, without contents. */
  readonly message: string;
  /** Form of the request as JSON, cut to the refused entries. It is enough to reproduce the refusal. */
  readonly form?: string;
};
