import type { DatabaseLoss } from './database-loss.ts';
import type { ErrorCode } from './errors.ts';
import type { NamedConversation } from './ids.ts';
import type { LeaveCause } from './leaving.ts';
import type { PackedLog } from './log-packing.ts';
import type { ModelErrorKind } from './model.ts';
import type { PassEvent } from './pass-events.ts';
import type { IgnoredCount } from './provider-count.ts';
import type { QuarantineEntry } from './quarantine.ts';
import type { SuspectEvent } from './suspect-events.ts';
import type { WaitKind } from './turn.ts';
import type { WebhookEndEvent, WebhookEvent } from './webhook-events.ts';

/** Ids for log lines. These ids are never metric labels, because each label value would be a new time series. */
export interface EventScope extends NamedConversation {
  /** Id of the turn, if the event concerns one. */
  readonly turn?: string;
  /** Id of the compaction pass, if the event concerns one. */
  readonly passId?: string;
}

/**
 * How a model call ended. `lost`: aborted, because the worker lost the lease, or the turn was canceled or erased.
 * `stopped`: aborted, because the worker shut down.
 */
export const MODEL_OUTCOMES = [
  'answered',
  'overflow',
  'retry',
  'timeout',
  'invalid',
  'fatal',
  'lost',
  'stopped',
] as const;
export type ModelOutcome = (typeof MODEL_OUTCOMES)[number];

/** How a tool call was answered. The model sees every outcome except `done` as an error result. */
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

type TurnEvent =
  | {
      readonly type: 'turn_claimed';
      readonly agent: string;
      /** Number of claims of this turn by workers since its last recorded progress, including this one. */
      readonly attempt: number;
      /**
       * Milliseconds from the acceptance of the turn to its first claim by a worker. For a scheduled turn, counted from
       * its due time. Absent on later claims.
       */
      readonly waitMs?: number;
      /** The wait that this claim ended, if the turn was suspended. */
      readonly suspended?: { readonly for: WaitKind; readonly ms: number };
    }
  | {
      readonly type: 'turn_settled';
      readonly outcome: 'completed' | 'failed';
      readonly code?: string;
      /** Why the messages of the turn left the context. Absent if they stay. */
      readonly leaves?: LeaveCause;
      /**
       * Milliseconds from the acceptance of the turn to its end, waits included. For a scheduled turn, counted from its
       * due time. Absent if the turn failed with the code `poison`.
       */
      readonly durationMs?: number;
    }
  | {
      readonly type: 'turn_suspended';
      readonly for: WaitKind;
      /** Milliseconds until the turn's wait times out. */
      readonly waitMs: number;
    }
  | {
      readonly type: 'tool_called';
      /** Name of the tool. `unknown` if the model called a tool that the agent does not have. */
      readonly name: string;
      readonly outcome: ToolOutcome;
      readonly durationMs: number;
    };

type ModelEvent =
  | {
      readonly type: 'model_called';
      /** Purpose of the call: to answer a turn or to write a summary. */
      readonly purpose: 'turn' | 'summary';
      /** Id of the called model. For a list of fallback models: all their ids (`a|b`), even if the call fails. */
      readonly model: string;
      /** Model of the fallback list that answered. The cost is computed with the highest prices of the list. */
      readonly answeredBy?: string;
      readonly outcome: ModelOutcome;
      readonly durationMs: number;
      /** Milliseconds until the first text. Absent if the answer was not streamed or had no text. */
      readonly firstTextMs?: number;
      /**
       * Why the call failed, with the provider's error name and without contents. Absent if the provider adapter gave
       * no reason.
       */
      readonly why?: string;
      /** The provider's error code, if the call failed. */
      readonly code?: string;
      /** Milliseconds that the provider asked to wait before a retry. */
      readonly retryAfterMs?: number;
      /** Tokens of the model request, counted by turnfold. */
      readonly tokens: number;
      /** True if `tokens` exceeds the model's window minus the reserved output. */
      readonly isOverLimit: boolean;
      /** Tokens of the request, counted by the provider. */
      readonly inputTokens?: number;
      /** Tokens of the answer, counted by the provider. */
      readonly outputTokens?: number;
      /** Part of `inputTokens` that the provider read from its cache. */
      readonly cachedTokens?: number;
      /** Cost in US dollars. Absent if no prices are known for the model. */
      readonly cost?: number;
    }
  /** A model of a fallback list failed, and the next model of the list was called. */
  | {
      readonly type: 'model_passed_over';
      /** Purpose of the call: to answer a turn or to write a summary. */
      readonly purpose: 'turn' | 'summary';
      readonly model: string;
      readonly outcome: ModelErrorKind;
    }
  | IgnoredCount;

/**
 * A worker abandoned its work, because its lease expired, another worker took over, the conversation was erased or the turn
 * was canceled.
 */
type LossEvent = {
  readonly type: 'lease_lost';
  readonly what: 'turn' | 'pass';
  /** Why the worker must not write any more. */
  readonly why?: 'fenced' | 'gone' | 'canceled' | 'unclaimed' | 'expired';
};

/** Kinds of writes that a worker keeps in memory and repeats while Redis refuses writes. */
export const DEFERRED_WRITES = [
  'start',
  'step',
  'steer',
  'suspend',
  'settle',
  'rollback',
  'request',
  'summary',
] as const;
export type DeferredWrite = (typeof DEFERRED_WRITES)[number];

type DeferralEvent =
  /**
   * Redis refused a write. The worker keeps the result in memory and repeats the write while it owns the conversation.
   */
  | {
      readonly type: 'write_deferred';
      readonly write: DeferredWrite;
      readonly code: 'redis_full' | 'redis_unavailable';
    }
  /** A write that Redis had refused succeeded on a retry. */
  | {
      readonly type: 'deferred_write_succeeded';
      readonly write: DeferredWrite;
      /** Milliseconds since Redis first refused the write. */
      readonly deferredMs: number;
    };

/** A worker handed back unfinished work, because it shuts down or cannot run the work now. */
type ReturnEvent = {
  readonly type: 'lease_returned';
  readonly what: 'turn' | 'pass' | 'summary';
  /** True if the shutdown deadline interrupted a model or tool call. */
  readonly isCutOff: boolean;
};

/**
 * A job was queued again, because its worker died, hung, shut down or lost its connection to Redis. The process that
 * finds the job reports it.
 */
type ReclaimEvent = { readonly type: 'job_reclaimed'; readonly queue: string };

/** A worker stopped renewing its entry without a shutdown: it died, hangs, or lost Redis. One other worker reports this. */
type LostWorkerEvent = {
  readonly type: 'worker_lost';
  readonly worker: string;
  readonly roles: readonly string[];
  /** Milliseconds from the start of the worker to its last renewal. */
  readonly livedMs: number;
};

/** A conversation was erased because it was idle for its TTL. The worker that removed the last keys reports this. */
type ExpiryEvent = { readonly type: 'conversation_expired'; readonly removedKeys: number };

/** Old log entries of a conversation were packed. */
type PackEvent = { readonly type: 'log_packed' } & PackedLog;

/** Code held the event loop of a worker for 5 s or more. `cause` names the tool, if one ran. */
type BlockedLoopEvent = { readonly type: 'event_loop_blocked'; readonly ms: number; readonly cause: string };

/** When a worker started, Redis was so full that it may soon refuse writes, or it wrote no append-only file. */
type RedisEvent =
  | { readonly type: 'redis_nearly_full'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly type: 'redis_not_persistent' };

/**
 * A worker started with a compaction policy that has a flaw, e.g. a setting that no longer exists. The worker uses the
 * policy anyway.
 */
type PolicyEvent = { readonly type: 'policy_warned'; readonly message: string };

/** A worker started with a model that its provider retires soon, or has retired. */
type RetirementEvent = {
  readonly type: 'model_retires';
  readonly model: string;
  /** Day as `YYYY-MM-DD`, UTC. */
  readonly retiresOn: string;
  /** Whole days until then. Negative if the day is over. */
  readonly daysLeft: number;
};

/**
 * The sweeper moved an unreadable record aside, so that it can process the rest. The event holds ids but no contents.
 */
type QuarantineEvent = { readonly type: 'record_quarantined' } & QuarantineEntry;

/** A worker removed a job from its queue, because the job's data cannot be read. */
type DroppedJobEvent = {
  readonly type: 'job_dropped';
  readonly queue: string;
  readonly job: string;
  readonly error: unknown;
};

/**
 * Outcomes of a delivery of an inbox job.
 * - `moved`: its turn is in the mailbox.
 * - `repeated`: its turn was there before, because the job was delivered or added again.
 * - `refused`: its turn cannot be accepted, and its producer must correct the job.
 * - `postponed`: Redis or this worker cannot accept the turn now, and the job is delivered again.
 */
type InboxOutcome = 'moved' | 'repeated' | 'refused' | 'postponed';

export interface InboxDelivery {
  /** Id of the job in its queue. */
  readonly job: string;
  /** Outcome of the delivery. */
  readonly outcome: InboxOutcome;
  /** Code of the error, if the turn was not accepted. */
  readonly code?: ErrorCode;
  /** Error of a refused job. */
  readonly error?: unknown;
}

/** A worker took a job of the inbox. */
type InboxEvent = { readonly type: 'inbox_job_taken' } & InboxDelivery;

type FailureEvent = { readonly type: 'worker_failed'; readonly where: string; readonly error: unknown };

/** Everything that workers report, for metrics and logs. Durations are in ms, sizes in tokens. */
export type WorkerEvent =
  | (EventScope &
      (
        | TurnEvent
        | ModelEvent
        | PassEvent
        | LossEvent
        | SuspectEvent
        | ReturnEvent
        | DeferralEvent
        | ExpiryEvent
        | PackEvent
        | WebhookEvent
      ))
  | (Partial<EventScope> &
      (
        | FailureEvent
        | WebhookEndEvent
        | RedisEvent
        | PolicyEvent
        | RetirementEvent
        | ReclaimEvent
        | LostWorkerEvent
        | BlockedLoopEvent
        | ({ readonly type: 'database_lost' } & DatabaseLoss)
        | QuarantineEvent
        | DroppedJobEvent
        | InboxEvent
      ));

export type EventListener = (event: WorkerEvent) => void;
