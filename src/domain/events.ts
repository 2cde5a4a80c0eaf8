import type { Reason } from './compaction/thresholds.ts';
import type { ConversationRef } from './ids.ts';
import type { PassOutcome } from './pass.ts';
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

type PassEvent =
  /** `isJoined`: the reasons were added to a pass in progress */
  | { readonly type: 'pass_requested'; readonly reasons: readonly Reason[]; readonly isJoined: boolean }
  | {
      readonly type: 'pass_ended';
      readonly outcome: PassOutcome['kind'] | 'superseded';
      readonly code?: string;
      readonly strategy: 'trim' | 'summarize' | 'evict' | 'none';
      readonly reasons: readonly Reason[];
      /** from its request to its end; absent where a claim ended a pass that nobody brought to one */
      readonly durationMs?: number;
      readonly version?: number;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      readonly archived?: number;
      readonly sequences: number;
    }
  | { readonly type: 'pass_fanned_out'; readonly jobs: number; readonly sequences: number }
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

type FailureEvent = { readonly type: 'worker_failed'; readonly where: string; readonly error: unknown };

/**
 * What workers tell whoever listens: metrics and logs subscribe, the core knows neither. Durations in ms, sizes in tokens.
 */
export type WorkerEvent =
  | (EventScope & (TurnEvent | ModelEvent | PassEvent | RejectionEvent | LossEvent))
  | (Partial<EventScope> & FailureEvent);

export type EventListener = (event: WorkerEvent) => void;
