import type { NamedConversation } from './ids.ts';
import type { ModelErrorKind } from './model.ts';
import type { PassEvent } from './pass-events.ts';
import type { SetAside } from './ports/sweep-store.ts';
import type { WaitKind } from './turn.ts';

/** Ids that a log line may carry, never a metric label. Contents are in no event. */
export interface EventScope extends NamedConversation {
  /** id of the turn, where there is one */
  readonly turn?: string;
  /** id of the pass, where there is one */
  readonly passId?: string;
}

/**
 * How a model call ended. `lost`: aborted, because its worker no longer owned the conversation. `stopped`: aborted, because
 * its worker stopped.
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

type TurnEvent =
  | {
      readonly type: 'turn_claimed';
      /** name of the agent */
      readonly agent: string;
      /** claims since the last outcome, this one included */
      readonly attempt: number;
      /** from the acceptance, of a scheduled turn from its time, to the first claim: there at that claim alone */
      readonly waitMs?: number;
      /** of a turn that was suspended, at the claim that goes on with it */
      readonly suspended?: {
        /** what the turn waited for */ readonly for: WaitKind;
        /** how long */

        readonly ms: number;
      };
    }
  | {
      readonly type: 'turn_settled';
      /** how it was settled */
      readonly outcome: 'completed' | 'failed';
      /** why it failed */
      readonly code?: string;
      /** from the acceptance, of a scheduled turn from its time, waits included; absent where a claim settled a poison turn */
      readonly durationMs?: number;
    }
  | {
      readonly type: 'turn_suspended';
      /** what the turn waits for */

      readonly for: WaitKind;
      /** ms to the deadline */

      readonly waitMs: number;
    }
  | {
      readonly type: 'tool_called';
      /** a registered tool's; `unknown` for a name that a model made up */
      readonly name: string;
      /** how the call was answered */
      readonly outcome: ToolOutcome;
      /** ms that the call took */
      readonly durationMs: number;
    };

type ModelEvent =
  | {
      readonly type: 'model_called';
      /** whether for a turn or for a summary */
      readonly purpose: 'turn' | 'summary';
      /** of a chain its own id (`a|b`), whether it answers or fails: it is the chain that was asked */
      readonly model: string;
      /** which of a chain's models answered: what the answer holds, and costs, is that one's */
      readonly answeredBy?: string;
      /** how the call ended */
      readonly outcome: ModelOutcome;
      /** ms that the call took */
      readonly durationMs: number;
      /** until the first text of the answer; absent where nobody listens, or there is none */
      readonly firstTextMs?: number;
      /** of a failed one, where its adapter told: what failed, without contents, and what the provider called it */
      readonly why?: string;
      /** the provider's own, where the call failed */
      readonly code?: string;
      /** how long the provider wants to be left alone */
      readonly retryAfterMs?: number;
      /** our own size of the request */
      readonly tokens: number;
      /** `tokens` exceeds the usable window */
      readonly isOverLimit: boolean;
      /** as the provider counted them */
      readonly inputTokens?: number;
      /** written, as the provider counted them */
      readonly outputTokens?: number;
      /** of `inputTokens` */
      readonly cachedTokens?: number;
      /** US dollars; absent where the model has no prices */
      readonly cost?: number;
    }
  /** a model of a chain, by its own id, failed, and the next one was asked */
  | {
      readonly type: 'model_passed_over';
      /** whether for a turn or for a summary */
      readonly purpose: 'turn' | 'summary';
      /** the model that was left */
      readonly model: string;
      /** why it was left */
      readonly outcome: ModelErrorKind;
    };

/** The work stopped without an outcome: the conversation or its pass has another owner, or is erased; or the turn was canceled. */
type LossEvent = {
  readonly type: 'lease_lost';
  /** what the lease was for */
  readonly what: 'turn' | 'pass';
  /** how it was lost */
  readonly why?: 'fenced' | 'gone' | 'canceled' | 'expired';
};

/** Writes that are held while Redis takes no writes: of a claimed turn, and the summaries of a pass. */
export const DEFERRED_WRITES = ['start', 'step', 'suspend', 'settle', 'rollback', 'request', 'summary'] as const;
export type DeferredWrite = (typeof DEFERRED_WRITES)[number];

type HoldEvent =
  /** Redis refused a write. The worker holds what it finished and repeats the write while the work is its own */
  | {
      readonly type: 'write_held';
      /** which write */
      readonly write: DeferredWrite;
      /** why Redis refused it */
      readonly code: 'redis_full' | 'redis_unavailable';
    }
  /** Redis took a write that was held */
  | {
      readonly type: 'write_taken';
      /** which write */
      readonly write: DeferredWrite;
      /** ms from its first refusal */
      readonly heldMs: number;
    };

/** A worker that stops, or in whose process another turn must run alone, handed its work back before it was done. */
type ReturnEvent = {
  readonly type: 'lease_returned';
  /** what was handed back */
  readonly what: 'turn' | 'pass' | 'summary';
  /** amid a step or a call, by the deadline of the stop */
  readonly isCutOff: boolean;
};

/** A job waits again, because its worker died, froze, lost Redis or stopped before it was done. Told by whoever found it. */
type ReclaimEvent = {
  readonly type: 'job_reclaimed';
  /** the queue of the job */
  readonly queue: string;
};

/** Another worker went silent without having stopped: it died, hangs, or has lost Redis. Reported once, by one worker. */
type LostWorkerEvent = {
  readonly type: 'worker_lost';
  /** the worker's own id */
  readonly worker: string;
  /** what it did */
  readonly roles: readonly string[];
  /** from its start to its last sign of life, in ms */
  readonly livedMs: number;
};

/** It had rested for the `conversationTtl` of its policy, and was erased. Told once, at its end, by whoever removed the last of it. */
type ExpiryEvent = {
  readonly type: 'conversation_expired';
  /** keys that were removed */

  readonly removedKeys: number;
};

/** At a start: Redis has used so much of what it may that writes will soon be refused. */
type MemoryEvent = {
  readonly type: 'redis_nearly_full';
  /** memory that Redis uses */

  readonly usedBytes: number;
  /** its maxmemory */

  readonly limitBytes: number;
};

/** At a start: what a person should know of a policy that is taken all the same, e.g. a retired key. */
type PolicyEvent = {
  readonly type: 'policy_warned';
  /** what a person should know of the policy */

  readonly message: string;
};

/** A record that could not be read was set aside, and the others of its shard go on. The names are ids, never contents. */
type QuarantineEvent = { readonly type: 'record_quarantined' } & SetAside;

/** A job whose data could not be read was taken out of its queue. */
type DroppedJobEvent = {
  readonly type: 'job_dropped';
  /** the queue that it lay in */
  readonly queue: string;
  /** its id */
  readonly job: string;
  /** why it cannot be read */
  readonly error: unknown;
};

type FailureEvent = {
  readonly type: 'worker_failed';
  /** the part of the worker that failed */

  readonly where: string;
  /** what it failed with */

  readonly error: unknown;
};

/**
 * What workers tell whoever listens: metrics and logs subscribe, the core knows neither. Durations in ms, sizes in tokens.
 */
export type WorkerEvent =
  | (EventScope & (TurnEvent | ModelEvent | PassEvent | LossEvent | ReturnEvent | HoldEvent | ExpiryEvent))
  | (Partial<EventScope> &
      (FailureEvent | MemoryEvent | PolicyEvent | ReclaimEvent | LostWorkerEvent | QuarantineEvent | DroppedJobEvent));

export type EventListener = (event: WorkerEvent) => void;
