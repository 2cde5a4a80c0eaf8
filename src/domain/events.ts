import type { Reason } from './compaction/thresholds.ts';
import type { ConversationRef } from './ids.ts';
import type { ModelErrorKind } from './model.ts';
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
export const MODEL_OUTCOMES = ['answered', 'overflow', 'retry', 'timeout', 'invalid', 'fatal', 'lost'] as const;
export type ModelOutcome = (typeof MODEL_OUTCOMES)[number];

/** How a tool call was answered. All but `done` are error results. */
export const TOOL_OUTCOMES = [
  'done',
  'failed',
  'timeout',
  'denied',
  'unknown_tool',
  'invalid_input',
  'invalid_result',
  'outcome_unknown',
] as const;
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number];

export const SUMMARY_OUTCOMES = ['written', 'known', 'refused', 'failed', 'superseded'] as const;
export type SummaryOutcome = (typeof SUMMARY_OUTCOMES)[number];

/**
 * Why no soft pass was asked for though there was a reason: the last one found nothing to do, three gained too little, or the
 * turn thinks between its calls, and a pass would have to wait for its answer.
 */
export const PASS_HOLDS = ['gate_shut', 'breaker_open', 'thinking'] as const;
export type PassHold = (typeof PASS_HOLDS)[number];

/**
 * Where a pass did less well than it planned. `summaries_missing`: sequences stay as they were; `evicted`: it was to summarize
 * and no summary came; `floor_relaxed`: less is left than the retention window; `taken_over`: a turn had waited too long for it.
 */
export const PASS_FALLBACKS = ['summaries_missing', 'evicted', 'floor_relaxed', 'taken_over'] as const;
export type PassFallback = (typeof PASS_FALLBACKS)[number];

type TurnEvent =
  | {
      readonly type: 'turn_claimed';
      readonly agent: string;
      readonly attempt: number;
      /** from the acceptance, of a scheduled turn from its time, to the first claim: there at that claim alone */
      readonly waitMs?: number;
      /** of a turn that was suspended, at the claim that goes on with it */
      readonly suspended?: { readonly for: WaitKind; readonly ms: number };
    }
  | {
      readonly type: 'turn_settled';
      readonly outcome: 'completed' | 'failed';
      readonly code?: string;
      /** from the acceptance, of a scheduled turn from its time, waits included; absent where a claim settled a poison turn */
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

type ModelEvent =
  | {
      readonly type: 'model_called';
      readonly purpose: 'turn' | 'summary';
      /** of a chain its own id (`a|b`), whether it answers or fails: it is the chain that was asked */
      readonly model: string;
      /** which of a chain's models answered: what the answer holds, and costs, is that one's */
      readonly answeredBy?: string;
      readonly outcome: ModelOutcome;
      readonly durationMs: number;
      /** until the first text of the answer; absent where nobody listens, or there is none */
      readonly firstTextMs?: number;
      /** of a failed one, where its adapter told: what failed, without contents, and what the provider called it */
      readonly why?: string;
      readonly code?: string;
      /** how long the provider wants to be left alone */
      readonly retryAfterMs?: number;
      /** our own size of the request */
      readonly tokens: number;
      /** `tokens` exceeds the usable window */
      readonly isOverLimit: boolean;
      /** as the provider counted them */
      readonly inputTokens?: number;
      readonly outputTokens?: number;
      /** of `inputTokens` */
      readonly cachedTokens?: number;
      /** US dollars; absent where the model has no prices */
      readonly cost?: number;
    }
  /** a model of a chain, by its own id, failed, and the next one was asked */
  | {
      readonly type: 'model_passed_over';
      readonly purpose: 'turn' | 'summary';
      readonly model: string;
      readonly outcome: ModelErrorKind;
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
      readonly fallbacks?: readonly PassFallback[];
      /** the third in a row that gained too little: no soft pass before the context has grown */
      readonly opensBreaker?: boolean;
    }
  /** a turn found a reason and asked for no pass, since none would gain anything now */
  | { readonly type: 'pass_held'; readonly why: PassHold }
  /** a turn had waited for it past its deadline and ends it itself, with the summaries that are there */
  | { readonly type: 'pass_taken_over' }
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
      readonly outcome: SummaryOutcome;
      readonly durationMs: number;
      readonly sourceTokens: number;
      readonly tokens?: number;
      /** who wrote it, and whether another of its chain was asked before */
      readonly written?: { readonly by: string; readonly isFallback: boolean };
      /** who of the chain refused, or takes no such source, and for what; without contents. Failures are told as such */
      readonly why?: string;
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

/** The work stopped without an outcome: the conversation or its pass has another owner, or is erased; or the turn was canceled. */
type LossEvent = {
  readonly type: 'lease_lost';
  readonly what: 'turn' | 'pass';
  readonly why?: 'fenced' | 'gone' | 'canceled' | 'expired';
};

/** A job waits again, because its worker died, froze, lost Redis or stopped before it was done. Told by whoever found it. */
type ReclaimEvent = { readonly type: 'job_reclaimed'; readonly queue: string };

/** Another worker went silent without having stopped: it died, hangs, or has lost Redis. Reported once, by one worker. */
type LostWorkerEvent = {
  readonly type: 'worker_lost';
  readonly worker: string;
  readonly roles: readonly string[];
  /** from its start to its last sign of life, in ms */
  readonly livedMs: number;
};

/** It had rested for the `conversationTtl` of its policy, and was erased. Told once, at its end, by whoever removed the last of it. */
type ExpiryEvent = { readonly type: 'conversation_expired'; readonly removedKeys: number };

/** At a start: Redis has used so much of what it may that writes will soon be refused. */
type MemoryEvent = { readonly type: 'redis_nearly_full'; readonly usedBytes: number; readonly limitBytes: number };

/** At a start: what a person should know of a policy that is taken all the same, e.g. a retired key. */
type PolicyEvent = { readonly type: 'policy_warned'; readonly message: string };

type FailureEvent = { readonly type: 'worker_failed'; readonly where: string; readonly error: unknown };

/**
 * What workers tell whoever listens: metrics and logs subscribe, the core knows neither. Durations in ms, sizes in tokens.
 */
export type WorkerEvent =
  | (EventScope & (TurnEvent | ModelEvent | PassEvent | RejectionEvent | LossEvent | ExpiryEvent))
  | (Partial<EventScope> & (FailureEvent | MemoryEvent | PolicyEvent | ReclaimEvent | LostWorkerEvent));

export type EventListener = (event: WorkerEvent) => void;
