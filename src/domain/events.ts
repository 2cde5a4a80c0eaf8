import type { NamedConversation } from './ids.ts';
import type { ModelErrorKind } from './model.ts';
import type { PassEvent } from './pass-events.ts';
import type { QuarantineEntry } from './ports/sweep-store.ts';
import type { WaitKind } from './turn.ts';

/** Ids that a log line may carry, but never a metric label. No event carries contents. */
export interface EventScope extends NamedConversation {
  /** Id of the turn, if the event concerns one. */
  readonly turn?: string;
  /** Id of the pass, if the event concerns one. */
  readonly passId?: string;
}

/**
 * How a model call ended. `lost`: aborted, because its worker no longer owned the conversation. `stopped`: aborted,
 * because its worker stopped.
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

/** How a tool call was answered. All outcomes but `done` are error results. */
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
      /** Claims since the last outcome, this one included. */
      readonly attempt: number;
      /**
       * Milliseconds from the acceptance to the first claim. A scheduled turn counts from its due time. Absent at later
       * claims.
       */
      readonly waitMs?: number;
      /** Wait that this claim ends, if the turn was suspended. */
      readonly suspended?: {
        readonly for: WaitKind;
        readonly ms: number;
      };
    }
  | {
      readonly type: 'turn_settled';
      readonly outcome: 'completed' | 'failed';
      readonly code?: string;
      /**
       * Milliseconds from the acceptance, waits included. A scheduled turn counts from its due time. Absent if a claim
       * settled a poison turn.
       */
      readonly durationMs?: number;
    }
  | {
      readonly type: 'turn_suspended';
      readonly for: WaitKind;
      /** Milliseconds to the deadline. */
      readonly waitMs: number;
    }
  | {
      readonly type: 'tool_called';
      /** Name of a registered tool. `unknown` for a name that a model invented. */
      readonly name: string;
      readonly outcome: ToolOutcome;
      readonly durationMs: number;
    };

type ModelEvent =
  | {
      readonly type: 'model_called';
      /** Use of the call: an answer of a turn, or a summary. */
      readonly purpose: 'turn' | 'summary';
      /** Id of the model that was called. For a chain: the id of the chain (`a|b`), even if the call fails. */
      readonly model: string;
      /** The model in the chain that answered. It determines the costs. */
      readonly answeredBy?: string;
      readonly outcome: ModelOutcome;
      readonly durationMs: number;
      /** Milliseconds to the first text of the answer. Absent without a listener or without text. */
      readonly firstTextMs?: number;
      /**
       * Description of the failure and the provider's name for it, without contents. Absent if the adapter gave none.
       */
      readonly why?: string;
      /** Error code of the provider, if the call failed. */
      readonly code?: string;
      /** Milliseconds that the provider asked to wait. */
      readonly retryAfterMs?: number;
      /** Tokens of the request by our own count. */
      readonly tokens: number;
      /** True if `tokens` exceeds the usable window. */
      readonly isOverLimit: boolean;
      /** Tokens of the request, as the provider counted them. */
      readonly inputTokens?: number;
      /** Tokens of the answer, as the provider counted them. */
      readonly outputTokens?: number;
      /** Tokens of `inputTokens` that came from the provider's cache. */
      readonly cachedTokens?: number;
      /** Cost in US dollars. Absent if the model has no prices. */
      readonly cost?: number;
    }
  /** A model of a chain failed, and the next one was called. */
  | {
      readonly type: 'model_passed_over';
      /** Use of the call: an answer of a turn, or a summary. */
      readonly purpose: 'turn' | 'summary';
      readonly model: string;
      readonly outcome: ModelErrorKind;
    };

/** A worker dropped its work because another worker owns the work, the conversation was erased or the turn was canceled. */
type LossEvent = {
  readonly type: 'lease_lost';
  readonly what: 'turn' | 'pass';
  /** How the lease was lost. */
  readonly why?: 'fenced' | 'gone' | 'canceled' | 'expired';
};

/** Writes whose finished result a worker keeps and repeats while Redis refuses writes. */
export const DEFERRED_WRITES = ['start', 'step', 'suspend', 'settle', 'rollback', 'request', 'summary'] as const;
export type DeferredWrite = (typeof DEFERRED_WRITES)[number];

type HoldEvent =
  /** Redis refused a write. The worker keeps the finished result and repeats the write while the worker owns the work. */
  | {
      readonly type: 'write_held';
      readonly write: DeferredWrite;
      readonly code: 'redis_full' | 'redis_unavailable';
    }
  /** Redis accepted a write that it had refused before. */
  | {
      readonly type: 'write_taken';
      readonly write: DeferredWrite;
      /** Milliseconds since the first refusal. */
      readonly heldMs: number;
    };

/** A worker handed back unfinished work, because the worker stops or another turn must run alone in its process. */
type ReturnEvent = {
  readonly type: 'lease_returned';
  readonly what: 'turn' | 'pass' | 'summary';
  /** True if the deadline of the stop interrupted a step or a call. */
  readonly isCutOff: boolean;
};

/** A job is queued again, because its worker died, hung, lost Redis or stopped. The process that finds the job reports it. */
type ReclaimEvent = { readonly type: 'job_reclaimed'; readonly queue: string };

/** A worker went silent without a stop: it died, hangs, or lost Redis. One other worker reports the loss, once. */
type LostWorkerEvent = {
  readonly type: 'worker_lost';
  readonly worker: string;
  readonly roles: readonly string[];
  /** Milliseconds from its start to its last sign of life. */
  readonly livedMs: number;
};

/** A conversation was erased after its idle TTL. The worker that removed the last keys reports the erase, once. */
type ExpiryEvent = { readonly type: 'conversation_expired'; readonly removedKeys: number };

/** Redis was so full at the start of a worker that it may soon refuse writes. */
type MemoryEvent = { readonly type: 'redis_nearly_full'; readonly usedBytes: number; readonly limitBytes: number };

/** A worker started with a policy that has a flaw, e.g. a retired key. The worker uses the policy nevertheless. */
type PolicyEvent = { readonly type: 'policy_warned'; readonly message: string };

/** The sweeper set an unreadable record aside, so that the sweep of the shard continues. The event has ids, no contents. */
type QuarantineEvent = { readonly type: 'record_quarantined' } & QuarantineEntry;

/** A worker removed a job from its queue, because the data of the job cannot be read. */
type DroppedJobEvent = {
  readonly type: 'job_dropped';
  readonly queue: string;
  readonly job: string;
  readonly error: unknown;
};

type FailureEvent = { readonly type: 'worker_failed'; readonly where: string; readonly error: unknown };

/**
 * Everything that workers report. Metrics and logs subscribe to these events. The core knows neither. Durations are in
 * ms, sizes in tokens.
 */
export type WorkerEvent =
  | (EventScope & (TurnEvent | ModelEvent | PassEvent | LossEvent | ReturnEvent | HoldEvent | ExpiryEvent))
  | (Partial<EventScope> &
      (FailureEvent | MemoryEvent | PolicyEvent | ReclaimEvent | LostWorkerEvent | QuarantineEvent | DroppedJobEvent));

export type EventListener = (event: WorkerEvent) => void;
