import { z } from 'zod';
import type { ErrorCode } from './errors.ts';
import type { TraceParent } from './ids.ts';

export const TURN_STATES = ['scheduled', 'queued', 'running', 'waiting', 'completed', 'failed', 'canceled'] as const;
export type TurnState = (typeof TURN_STATES)[number];

export const WAIT_KINDS = ['tools', 'approval', 'compaction', 'retry'] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

export function isSettled(state: TurnState): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled';
}

/** Times and budgets of turns. Times are in ms. */
export const TURN_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /**
   * Claims without an outcome. If the last one died alone in its process, the next claim settles the turn as `poison`
   * (I10).
   */
  maxAttempts: 3,
  /**
   * Suspensions of one step for a pass or a retry. One more settles the turn as `retries_exhausted`. Waits for answers
   * do not count, because each passed deadline answers a call.
   */
  maxSuspensions: 20,
  maxSteps: 50,
  stepTimeoutMs: 600_000,
  /** Time for which a call waits for its answer or approval, unless its tool sets another (7 d). */
  answerWithinMs: 604_800_000,
  compactionWaitMs: 20_000,
  maxQueuedTurns: 1_000,
  turnRetentionMs: 604_800_000,
} as const;

/** Waits that a person or another program ends with `answer`. */
export const ANSWER_KINDS = ['tools', 'approval'] as const satisfies readonly WaitKind[];
export type AnswerKind = (typeof ANSWER_KINDS)[number];

export function isAnswerKind(kind: WaitKind): kind is AnswerKind {
  return ANSWER_KINDS.some((answered) => answered === kind);
}

export const waitingCallSchema = z.object({
  /** Id of the call in the log, which `answer` takes. */
  id: z.string(),
  name: z.string(),
  /** JSON object as text, exactly as the model wrote it. */
  arguments: z.string(),
  /**
   * Deadline in ms since epoch, by the store's clock. After it the call is answered as `timeout`, or `denied` for an
   * approval.
   */
  until: z.number(),
});

/** A call that waits for its result or for a decision. */
export type WaitingCall = z.infer<typeof waitingCallSchema>;

export const waitingSchema = z.object({
  /**
   * Kind of wait: `tools` for results from outside, `approval` for decisions of a person, `compaction` for a pass,
   * `retry` for the model's provider.
   */
  for: z.enum(WAIT_KINDS),
  step: z.string(),
  /** Time of the suspension in ms since epoch, by the store's clock. */
  since: z.number(),
  /**
   * Time at which the turn continues at the latest, in ms since epoch, by the store's clock. For calls: their earliest
   * deadline.
   */
  until: z.number(),
  /** Calls that wait for an answer or approval. Empty for `compaction` and `retry`. */
  calls: z.array(waitingCallSchema),
});

/** Wait of a suspended turn. */
export type Waiting = z.infer<typeof waitingSchema>;

/** A call to wait for. The store computes the deadline by its own clock. */
export interface CallToWaitFor extends Omit<WaitingCall, 'until'> {
  /** Milliseconds from the suspension to the deadline. A call that the turn waited for before keeps its deadline. */
  readonly waitMs: number;
}

/** A requested wait. The store computes its deadline by its own clock, because the caller's clock may be wrong. */
export interface WaitRequest extends Omit<Waiting, 'since' | 'until' | 'calls'> {
  readonly calls: readonly CallToWaitFor[];
  /** Milliseconds from the suspension to the deadline. For calls: the shortest of theirs. */
  readonly waitMs: number;
  /** Span that ends with the suspension, for the span that continues the turn. */
  readonly suspendedIn?: TraceParent | undefined;
  /** Pass to wait for, if the wait is for compaction. If that pass is not open, the wait ends at once. */
  readonly passId?: string | undefined;
}

export const ANSWER_ENDS = ['cut_off', 'refusal'] as const;
/** How an incomplete answer ended: at the output cap, or by a refusal of the model or its provider. */
export type AnswerEnd = (typeof ANSWER_ENDS)[number];

/** Record of a step. A `started` step without an outcome may or may not have taken effect before a crash. */
export const stepRecordSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('started'), at: z.number() }),
  z.object({
    status: z.literal('done'),
    /** Seqs of the messages that the step appended. Absent if it appended none. */
    seqs: z.object({ from: z.number(), to: z.number() }).optional(),
    /** End of an incomplete answer, for a model step. */
    end: z.enum(ANSWER_ENDS).optional(),
    at: z.number(),
  }),
]);

export type StepRecord = z.infer<typeof stepRecordSchema>;

/** Why a turn failed, in the form that is stored and shown. */
export interface TurnFailure {
  /** Code to react to. */
  readonly code: ErrorCode;
  readonly message: string;
  /** Figures and ids that explain the failure, without contents. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Answer of a completed turn. */
export interface TurnAnswer {
  /** Seq of the answer in the log. */
  readonly seq: number;
  readonly content: string;
  /** End of an incomplete answer. */
  readonly end?: AnswerEnd;
}

/** Fields of every turn, in any state. */
export interface TurnFacts {
  readonly turn: string;
  readonly agent: string;
  /** Time of the acceptance in ms since epoch, by the store's clock. */
  readonly acceptedAt: number;
  /** Seq of the user message. Absent until the first claim. */
  readonly inputSeq?: number;
  /** Failed turn whose input this turn repeats. */
  readonly redriveOf?: string;
  /** Tokens of each model call's request by our own count, in order. */
  readonly requestTokens: readonly number[];
  /** Tokens of all model calls so far, as the providers counted them. */
  readonly usage?: TurnUsage;
}

/** Tokens as providers count them. */
export interface TurnUsage {
  /** Tokens of the input, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A turn that is neither settled nor waiting. */
export interface OpenTurnView extends TurnFacts {
  /** State of the turn: `scheduled` until it is due, `queued` behind others, `running` at a worker. */
  readonly state: 'scheduled' | 'queued' | 'running';
  readonly settledAt?: undefined;
  readonly waiting?: undefined;
  readonly answer?: undefined;
  readonly failure?: undefined;
  readonly redrivenAs?: undefined;
}

/** A turn that uses no worker until its wait ends. */
export interface WaitingTurnView extends Omit<OpenTurnView, 'state' | 'waiting'> {
  readonly state: 'waiting';
  /** Kind and deadline of the wait. */
  readonly waiting: Waiting;
}

/** A turn with its answer. */
export interface CompletedTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'answer'> {
  readonly state: 'completed';
  /** Time of the settlement in ms since epoch, by the store's clock. */
  readonly settledAt: number;
  readonly answer: TurnAnswer;
}

/** A turn that ended without an answer. */
export interface FailedTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'failure' | 'redrivenAs'> {
  readonly state: 'failed';
  /** Time of the settlement in ms since epoch, by the store's clock. */
  readonly settledAt: number;
  readonly failure: TurnFailure;
  /** Latest turn that repeated this turn's input. */
  readonly redrivenAs?: string;
}

/** A turn that a caller canceled. */
export interface CanceledTurnView extends Omit<OpenTurnView, 'state' | 'settledAt'> {
  readonly state: 'canceled';
  /** Time of the settlement in ms since epoch, by the store's clock. */
  readonly settledAt: number;
}

/** A turn as its caller sees it. `state` determines which other fields are present. */
export type TurnView = OpenTurnView | WaitingTurnView | CompletedTurnView | FailedTurnView | CanceledTurnView;

/** Failure of a poison turn: its last worker died with nothing else in its process. */
export const POISON_FAILURE: TurnFailure = {
  code: 'poison',
  message: `The turn failed: ${TURN_LIMITS.maxAttempts} workers took it and died or failed without an outcome. The last one ran nothing else in its process. Read the logs of those workers.`,
  details: { attempts: TURN_LIMITS.maxAttempts },
};
