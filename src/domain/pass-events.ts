import type { Reason } from './compaction/thresholds.ts';
import type { PassOutcome } from './pass.ts';
import type { ApprovalRefusal } from './proposal.ts';

export const SUMMARY_OUTCOMES = ['written', 'known', 'refused', 'failed', 'superseded'] as const;
export type SummaryOutcome = (typeof SUMMARY_OUTCOMES)[number];

/**
 * Why no soft pass was asked for though there was a reason: the last one found nothing to do, three gained too little, or the
 * turn thinks between its calls, and a pass would have to wait for its answer.
 */
export const BACKOFF_CAUSES = ['nothing_to_do', 'no_gain', 'thinking'] as const;
export type BackoffCause = (typeof BACKOFF_CAUSES)[number];

/**
 * Where a pass did less well than it planned. `summaries_missing`: sequences stay as they were; `evicted`: it was to summarize
 * and no summary came; `floor_relaxed`: less is left than the retention window; `taken_over`: a turn ended it itself.
 */
export const PASS_FALLBACKS = ['summaries_missing', 'evicted', 'floor_relaxed', 'taken_over'] as const;
export type PassFallback = (typeof PASS_FALLBACKS)[number];

/** What a policy makes of a context: two of the same pass can be compared. */
export interface PassMeasure {
  /** `proposed`: it waits for somebody to approve of it */
  readonly outcome: PassOutcome['kind'] | 'proposed';
  /** what the pass did */
  readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
  /** size of the context before */
  readonly tokensBefore: number;
  /** size of the context after */
  readonly tokensAfter: number;
  /** that the context holds behind it */
  readonly summaries: number;
  /** of messages and summaries that it takes out, and nothing stands for */
  readonly evictedTokens: number;
}

export type PassEvent =
  | RejectionEvent
  /** `isJoined`: the reasons were added to a pass in progress */
  | {
      readonly type: 'pass_requested';
      /** why */

      readonly reasons: readonly Reason[];
      /** a pass was in progress, and got these reasons */

      readonly isJoined: boolean;
    }
  | {
      readonly type: 'pass_ended';
      /** how it ended */
      readonly outcome: PassOutcome['kind'] | 'superseded';
      /** why it failed */
      readonly code?: string;
      /** what it did */
      readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
      /** why it was asked for */
      readonly reasons: readonly Reason[];
      /** from its request to its end, under review to its proposal; absent where none was made or nobody brought it to an end */
      readonly durationMs?: number;
      /** the version that it made */
      readonly version?: number;
      /** size of the context before */
      readonly tokensBefore?: number;
      /** size of the context after */
      readonly tokensAfter?: number;
      /** messages that left the context */
      readonly archived?: number;
      /** stretches that were to be summarized */
      readonly sequences: number;
      /** what it went on without */
      readonly fallbacks?: readonly PassFallback[];
      /** the third in a row that gained too little: no soft pass before the context has grown */
      readonly startsBackoff?: boolean;
    }
  /** a turn found a reason and asked for no pass, since none would gain anything now */
  | {
      readonly type: 'pass_backed_off';
      /** what holds it back */
      readonly why: BackoffCause;
    }
  /** a turn ends it itself, with the summaries that are there: its deadline passed, or earlier passes did not settle the size */
  | { readonly type: 'pass_taken_over' }
  /** under review: it waits for somebody to approve of the version that it has settled */
  | {
      readonly type: 'pass_proposed';
      /** what the pass would do */
      readonly strategy: 'trim' | 'summarize' | 'evict';
      /** why it was asked for */
      readonly reasons: readonly Reason[];
      /** size of the context now */
      readonly tokensBefore: number;
      /** size of the context under the proposal */
      readonly tokensAfter: number;
      /** messages that would leave the context */
      readonly archived: number;
      /** stretches that were summarized */
      readonly sequences: number;
    }
  /** an approval could not be carried out: the proposal waits on */
  | {
      readonly type: 'approval_refused';
      /** why the approval was refused */
      readonly code: ApprovalRefusal['code'];
      /** the part of the approval at fault */
      readonly field: string;
      /** without contents */
      readonly message: string;
    }
  | {
      readonly type: 'pass_fanned_out';
      /** summarization jobs that were added */

      readonly jobs: number;
      /** stretches that are to be summarized */

      readonly sequences: number;
    }
  /** a second policy was measured at a pass of the live one; `shadow` is absent where that failed */
  | {
      readonly type: 'pass_shadowed';
      /** what the live policy did */

      readonly live: PassMeasure;
      /** what the second policy would have done; absent where that failed */

      readonly shadow?: PassMeasure;
    }
  | {
      readonly type: 'summary_ended';
      /** how the job ended */
      readonly outcome: SummaryOutcome;
      /** ms that the job took */
      readonly durationMs: number;
      /** size of what is summarized */
      readonly sourceTokens: number;
      /** size of the summary */
      readonly tokens?: number;
      /** who wrote it, and whether another of its chain was asked before */
      readonly written?: {
        /** the model that wrote it */ readonly by: string;
        /** another model was asked first */

        readonly isFallback: boolean;
      };
      /** who of the chain refused, or takes no such source, and for what; without contents. Failures are told as such */
      readonly why?: string;
    };

/**
 * The form of a context was refused. `by`: our own check before a commit (the version was not made), or the provider (a
 * committed one, over which its parent was put).
 */
type RejectionEvent = {
  readonly type: 'version_rejected';
  /** who refused: our check before the commit, or the provider */
  readonly by: 'check' | 'provider';
  /** number of the version */
  readonly version: number;
  /** the provider's code, or the rules that are broken */
  readonly codes: readonly string[];
  /** without contents */
  readonly message: string;
  /** the request's form as JSON, cut to what is refused: enough to show the refusal again */
  readonly form?: string;
};
