import type { Reason } from './compaction/thresholds.ts';
import type { ConversationRef } from './ids.ts';
import type { PassOutcome } from './pass.ts';
import type { ApprovalRefusal } from './proposal.ts';
import type { WaitKind } from './turn.ts';

/** Ids that a log line may carry, never a metric label. Contents are in no event. */
export interface EventScope {
  readonly conversation: ConversationRef;
  readonly turn?: string;
  readonly passId?: string;
}

/** How a model call ended. `lost`: aborted, because its worker no longer owned the conversation. */
export type ModelOutcome = 'answered' | 'overflow' | 'retry' | 'timeout' | 'invalid' | 'fatal' | 'lost';

/** How a tool call was answered. All but `done` are error results. */
export type ToolOutcome =
  | 'done'
  | 'failed'
  | 'timeout'
  | 'denied'
  | 'unknown_tool'
  | 'invalid_input'
  | 'invalid_result'
  | 'outcome_unknown';

type TurnEvent =
  /** `waitMs` runs from the acceptance to the first claim, and is there at that claim alone */
  | { readonly type: 'turn_claimed'; readonly agent: string; readonly attempt: number; readonly waitMs?: number }
  | {
      readonly type: 'turn_settled';
      readonly outcome: 'completed' | 'failed';
      readonly code?: string;
      /** from the acceptance, waits included; absent where a claim settled a poison turn */
      readonly durationMs?: number;
    }
  | { readonly type: 'turn_suspended'; readonly for: WaitKind; readonly waitMs: number }
  | {
      readonly type: 'tool_called';
      /** a registered tool's; `unknown` for a name that a model made up */
      readonly name: string;
      readonly outcome: ToolOutcome;
      readonly durationMs: number;
    };

type ModelEvent = {
  readonly type: 'model_called';
  readonly purpose: 'turn' | 'summary';
  readonly model: string;
  readonly outcome: ModelOutcome;
  readonly durationMs: number;
  /** our own size of the request */
  readonly tokens: number;
  /** `tokens` exceeds the usable window */
  readonly isOverLimit: boolean;
  /** as the provider counted them */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
};

/** What a policy makes of a context: two of the same pass can be compared. */
export interface PassMeasure {
  /** `proposed`: it waits for somebody to approve of it */
  readonly outcome: PassOutcome['kind'] | 'proposed';
  readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** that the context holds behind it */
  readonly checkpoints: number;
  /** of messages and checkpoints that it takes out, and nothing stands for */
  readonly evictedTokens: number;
}

type PassEvent =
  /** `isJoined`: the reasons were added to a pass in progress */
  | { readonly type: 'pass_requested'; readonly reasons: readonly Reason[]; readonly isJoined: boolean }
  | {
      readonly type: 'pass_ended';
      readonly outcome: PassOutcome['kind'] | 'superseded';
      readonly code?: string;
      readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
      readonly reasons: readonly Reason[];
      /** from its request to its end, under review to its proposal; absent where none was made or nobody brought it to an end */
      readonly durationMs?: number;
      readonly version?: number;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      readonly archived?: number;
      readonly sequences: number;
    }
  /** under review: it waits for somebody to approve of the version that it has settled */
  | {
      readonly type: 'pass_proposed';
      readonly strategy: 'trim' | 'summarize' | 'evict';
      readonly reasons: readonly Reason[];
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly archived: number;
      readonly sequences: number;
    }
  /** an approval could not be carried out: the proposal waits on */
  | {
      readonly type: 'approval_refused';
      readonly code: ApprovalRefusal['code'];
      readonly field: string;
      /** without contents */
      readonly message: string;
    }
  | { readonly type: 'pass_fanned_out'; readonly jobs: number; readonly sequences: number }
  /** a second policy was measured at a pass of the live one; `shadow` is absent where that failed */
  | { readonly type: 'pass_shadowed'; readonly live: PassMeasure; readonly shadow?: PassMeasure }
  | {
      readonly type: 'summary_ended';
      readonly outcome: 'written' | 'known' | 'refused' | 'failed' | 'superseded';
      readonly durationMs: number;
      readonly sourceTokens: number;
      readonly tokens?: number;
    };

/**
 * The form of a context was refused. `by`: our own check before a commit (the version was not made), or the provider (a
 * committed one, over which its parent was put).
 */
type RejectionEvent = {
  readonly type: 'version_rejected';
  readonly by: 'check' | 'provider';
  readonly version: number;
  /** the provider's code, or the rules that are broken */
  readonly codes: readonly string[];
  /** without contents */
  readonly message: string;
  /** the request's form as JSON, cut to what is refused: enough to show the refusal again */
  readonly form?: string;
};

/** The work stopped without an outcome: the conversation or its pass has another owner, or is erased. */
type LossEvent = {
  readonly type: 'lease_lost';
  readonly what: 'turn' | 'pass';
  readonly why?: 'fenced' | 'gone' | 'expired';
};

/** At a start: Redis has used so much of what it may that writes will soon be refused. */
type MemoryEvent = { readonly type: 'redis_nearly_full'; readonly usedBytes: number; readonly limitBytes: number };

type FailureEvent = { readonly type: 'worker_failed'; readonly where: string; readonly error: unknown };

/**
 * What workers tell whoever listens: metrics and logs subscribe, the core knows neither. Durations in ms, sizes in tokens.
 */
export type WorkerEvent =
  | (EventScope & (TurnEvent | ModelEvent | PassEvent | RejectionEvent | LossEvent))
  | (Partial<EventScope> & (FailureEvent | MemoryEvent));

export type EventListener = (event: WorkerEvent) => void;
