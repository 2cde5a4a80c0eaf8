import type { DatabaseLoss } from './database-loss.ts';
import type { ErrorCode } from './errors.ts';
import type { NamedConversation } from './ids.ts';
import type { PackedLog } from './log-packing.ts';
import type { LeaveCause } from './message.ts';
import type { ModelErrorKind } from './model.ts';
import type { PassEvent } from './pass-events.ts';
import type { IgnoredCount } from './provider-count.ts';
import type { QuarantineEntry } from './quarantine.ts';

import type { WaitKind } from './turn.ts';
import type { WebhookEndEvent, WebhookEvent } from './webhook.ts';

/** Ids for log lines. Metrics must not use them as labels, because each id would be a new time series. */
export interface EventScope extends NamedConversation {
  readonly turn?: string;
  readonly passId?: string;
}

/** `lost`: aborted by a lost lease, a cancel or an erase. `stopped`: aborted by the shutdown of the worker. */
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

/** The model sees every outcome except `done` as an error result. */
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
      /** Number of claims since the turn's last recorded progress, including this claim. */
      readonly attempt: number;
      /** Ms from acceptance or the due time to the first claim. Absent on later claims. */
      readonly waitMs?: number;
      /** Wait that ended with this claim, if the turn was suspended before. */
      readonly suspended?: { readonly for: WaitKind; readonly ms: number };
    }
  | {
      readonly type: 'turn_settled';
      readonly outcome: 'completed' | 'failed';
      readonly code?: string;
      /** Why the turn's messages leave the context. Absent if the messages stay. */
      readonly leaves?: LeaveCause;
      /** Ms from acceptance or the due time to the end, waits included. Absent for the code `poison`. */
      readonly durationMs?: number;
    }
  | {
      readonly type: 'turn_suspended';
      readonly for: WaitKind;
      /** Milliseconds until the wait times out. */
      readonly waitMs: number;
    }
  | {
      readonly type: 'tool_called';
      /** `unknown` if the agent does not have the tool. */
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
      /** Model of the list that answered. The cost is computed with the highest prices of the list. */
      readonly answeredBy?: string;
      readonly outcome: ModelOutcome;
      readonly durationMs: number;
      /** Absent if the answer was not streamed or had no text. */
      readonly firstTextMs?: number;
      /** The provider's reason, without contents. */
      readonly why?: string;
      /** The provider's error code. */
      readonly code?: string;
      /** Milliseconds that the provider asked to wait before a retry. */
      readonly retryAfterMs?: number;
      /** Tokens of the request, counted by turnfold. The fields below are the provider's counts. */
      readonly tokens: number;
      /** True if `tokens` exceeds the window minus the reserved output. */
      readonly isOverLimit: boolean;
      /** Tokens of the request, counted by the provider. */
      readonly inputTokens?: number;
      readonly outputTokens?: number;
      /** Part of `inputTokens`. */
      readonly cachedTokens?: number;
      /** Cost in US dollars. Absent if no prices are known. */
      readonly cost?: number;
    }
  /** The next model of the fallback list was called. */
  | {
      readonly type: 'model_passed_over';
      /** Purpose of the call: to answer a turn or to write a summary. */
      readonly purpose: 'turn' | 'summary';
      readonly model: string;
      readonly outcome: ModelErrorKind;
    }
  | IgnoredCount;

type LossEvent = {
  readonly type: 'lease_lost';
  readonly what: 'turn' | 'pass';
  readonly why?: 'fenced' | 'gone' | 'canceled' | 'unclaimed' | 'expired';
};

/** Writes that a worker keeps in memory and repeats while Redis refuses writes. */
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
  | {
      readonly type: 'write_deferred';
      readonly write: DeferredWrite;
      readonly code: 'redis_full' | 'redis_unavailable';
    }
  | {
      readonly type: 'deferred_write_succeeded';
      readonly write: DeferredWrite;
      /** Milliseconds since Redis first refused the write. */
      readonly deferredMs: number;
    };

type ReturnEvent = {
  readonly type: 'lease_returned';
  readonly what: 'turn' | 'pass' | 'summary';
  /** True if the shutdown deadline interrupted a model or tool call. */
  readonly isCutOff: boolean;
};

/** Reported by the process that finds the abandoned job. */
type ReclaimEvent = { readonly type: 'job_reclaimed'; readonly queue: string };

/** A worker died, hangs, or lost Redis. One other worker reports it. */
type LostWorkerEvent = {
  readonly type: 'worker_lost';
  readonly worker: string;
  readonly roles: readonly string[];
  /** Milliseconds from the worker's start to its last renewal. */
  readonly livedMs: number;
};

/** The worker that removed the last keys reports this. */
type ExpiryEvent = { readonly type: 'conversation_expired'; readonly removedKeys: number };

type PackEvent = { readonly type: 'log_packed' } & PackedLog;

/** Ends of a child process for a suspect: a turn during which two workers died. */
export const SUSPECT_OUTCOMES = ['ended', 'died', 'blocked', 'stopped', 'not_started'] as const;
/**
 * - `ended`: the turn was settled, suspended, handed back or lost.
 * - `died`: the process died while it ran the turn.
 * - `blocked`: its event loop gave no sign of life, so the worker ended the process.
 * - `stopped`: the worker shut down.
 * - `not_started`: the process could run no turn. The turn runs alone in the worker instead.
 */
export type SuspectOutcome = (typeof SUSPECT_OUTCOMES)[number];

export type SuspectEvent = {
  readonly type: 'suspect_process_ended';
  readonly outcome: SuspectOutcome;
  readonly durationMs: number;
  /** Absent if a signal ended the process. */
  readonly exitCode?: number;
  /** Name of the signal that ended the process. */
  readonly signal?: string;
  readonly error?: unknown;
};

/** One piece of code blocked the event loop for 5 s or more. `cause` names the tool, if a tool ran. */
type BlockedLoopEvent = { readonly type: 'event_loop_blocked'; readonly ms: number; readonly cause: string };

/** Reported when a worker starts. */
type RedisEvent =
  | { readonly type: 'redis_nearly_full'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly type: 'redis_not_persistent' };

/** The policy has a problem, but the worker uses it. */
type PolicyEvent = { readonly type: 'policy_warned'; readonly message: string };

type RetirementEvent = {
  readonly type: 'model_retires';
  readonly model: string;
  /** Day of the retirement as `YYYY-MM-DD`, UTC. */
  readonly retiresOn: string;
  /** Negative if the day is over. */
  readonly daysLeft: number;
};

/** A record that was moved aside. The event holds ids but no contents. */
type QuarantineEvent = { readonly type: 'record_quarantined' } & QuarantineEntry;

type DroppedJobEvent = {
  readonly type: 'job_dropped';
  readonly queue: string;
  readonly job: string;
  readonly error: unknown;
};

type InboxOutcome = 'moved' | 'repeated' | 'refused' | 'postponed';

export interface InboxDelivery {
  readonly job: string;
  readonly outcome: InboxOutcome;
  readonly code?: ErrorCode;
  readonly error?: unknown;
}

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
