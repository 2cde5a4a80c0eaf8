import { z } from 'zod';
import { boundedList } from './bounded-schemas.ts';
import type { ErrorCode } from './errors.ts';
import type { TraceParent } from './ids.ts';
import { MAX_CALLS } from './message.ts';

export const TURN_STATES = ['scheduled', 'queued', 'running', 'waiting', 'completed', 'failed', 'canceled'] as const;
export type TurnState = (typeof TURN_STATES)[number];

export const WAIT_KINDS = ['tools', 'approval', 'compaction', 'retry'] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

export function isSettled(state: TurnState): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled';
}

/** Times and limits of turns. Times are in ms. */
export const TURN_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /**
   * Number of claims of a turn by workers without progress. If the process of the last claim died while it ran nothing
   * else, the next claim settles the turn as `poison` (invariant I10).
   */
  maxAttempts: 3,
  /** Number of times that one step may be suspended for compaction. One more fails the turn with `retries_exhausted`. */
  maxSuspensions: 20,
  maxSteps: 50,
  stepTimeoutMs: 600_000,
  /** Time that a tool call waits for its result or approval, unless its tool sets another time (7 days). */
  answerWithinMs: 604_800_000,
  compactionWaitMs: 20_000,
  maxQueuedTurns: 1_000,
  turnRetentionMs: 604_800_000,
  /** A claim returns the context, too, if the context has at most this many messages. */
  claimedMessages: 32,
  /** A claim returns the context only if its messages have at most this many bytes as JSON. */
  claimedBytes: 16_384,
} as const;

/**
 * Treatment of a new turn if an earlier turn of its conversation is queued, running or waiting. `enqueue`: the new turn
 * runs after all earlier turns. `reject`: it is refused. `interrupt`: the first of the earlier turns is canceled, and the
 * new turn takes its place. `rollback`: as `interrupt`, and the messages of the canceled turn leave the context. `steer`:
 * the message goes into the running turn before its next model call.
 */
export const ON_BUSY = ['enqueue', 'reject', 'interrupt', 'rollback', 'steer'] as const;
export type OnBusy = (typeof ON_BUSY)[number];

/** Kinds of waits that end when a caller sends `answer`. */
export const ANSWER_KINDS = ['tools', 'approval'] as const satisfies readonly WaitKind[];
export type AnswerKind = (typeof ANSWER_KINDS)[number];

export function isAnswerKind(kind: WaitKind): kind is AnswerKind {
  return ANSWER_KINDS.some((answered) => answered === kind);
}

export const recordedDecisionSchema = z.object({
  /** For a call that waited for approval: true if the call may run. Absent for a result. */
  approved: z.boolean().optional(),
  /** Time of the decision in ms since epoch, by the clock of Redis. */
  at: z.number(),
  /** Person who decided, as the caller of `answer` named them. */
  by: z.string().optional(),
});

/** The decision or the result that counts for a tool call, without its text. */
export type RecordedDecision = z.infer<typeof recordedDecisionSchema>;

/** @param verdict as in `StoredAnswer` */
export function describeDecision(verdict: string, at: number, by = ''): RecordedDecision {
  const isApproval = verdict === 'approved' || verdict === 'denied';
  return { ...(isApproval && { approved: verdict === 'approved' }), at, ...(by !== '' && { by }) };
}

export const waitingCallSchema = z.object({
  /** Id of the tool call, to be passed to `answer`. */
  id: z.string(),
  name: z.string(),
  /** JSON object as text, exactly as the model wrote it. */
  arguments: z.string(),
  /**
   * Input that `run` gets if the call is approved, as JSON: the arguments after the tool's schema parsed them. Absent for
   * a call that an earlier release suspended.
   */
  input: z.string().optional(),
  /**
   * True if JSON cannot hold the input, e.g. a `Date` in it. `input` is then a text for people, as Node's `util.inspect`
   * writes the value.
   */
  isShownOnly: z.literal(true).optional(),
  /**
   * Names this call in this incarnation of its conversation, with its name, its arguments and its input. An answer with
   * the hash of another call is refused. Absent for a call that an earlier release suspended.
   */
  hash: z.string().optional(),
  /** The answer that counts. Absent while the call has none. */
  decision: recordedDecisionSchema.optional(),
  /**
   * Deadline in ms since epoch, by the clock of Redis. After it the call gets the result `timeout`, or `denied` if it
   * waits for approval.
   */
  until: z.number(),
});

/** A tool call that waits for its result or for a person's approval. */
export type WaitingCall = z.infer<typeof waitingCallSchema>;

export const waitingSchema = z.object({
  /**
   * Kind of wait: `tools` for results from outside, `approval` for a person's decisions, `compaction` for a compaction
   * pass, `retry` for the model's provider.
   */
  for: z.enum(WAIT_KINDS),
  step: z.string(),
  /** Start of the wait in ms since epoch, by the clock of Redis. */
  since: z.number(),
  /**
   * Time at which the turn continues at the latest, in ms since epoch, by the clock of Redis. For tool calls: the
   * earliest deadline among them.
   */
  until: z.number(),
  /** Tool calls that wait for a result or an approval. Empty for `compaction` and `retry`. */
  calls: boundedList(waitingCallSchema, MAX_CALLS),
});

/** Why and until when a suspended turn waits. */
export type Waiting = z.infer<typeof waitingSchema>;

/** A tool call as its wait is recorded: nothing in it changes until the call has a result. */
export type RecordedCall = Omit<WaitingCall, 'until' | 'decision'>;

/** A tool call that the turn will wait for. Redis computes the deadline by its own clock. */
export interface CallToWaitFor extends RecordedCall {
  /**
   * Milliseconds from the suspension to the deadline. If the turn already waited for this call, the call keeps its
   * first deadline.
   */
  readonly waitMs: number;
}

/** Request to suspend a turn. Redis computes the deadline by its own clock, because a worker's clock may be wrong. */
export interface WaitRequest extends Omit<Waiting, 'since' | 'until' | 'calls'> {
  readonly calls: readonly CallToWaitFor[];
  /** Milliseconds from the suspension to the deadline. For tool calls: the shortest time among them. */
  readonly waitMs: number;
  /** Milliseconds from the step's first such suspension, after which the turn fails. Absent: `maxSuspensions` counts. */
  readonly maxMs?: number | undefined;
  /** True if the gate of the model chose the time. Such a wait is no retry. */
  readonly isHeld?: boolean | undefined;
  /** Trace span that ends with the suspension. The span that continues the turn links to it. */
  readonly suspendedIn?: TraceParent | undefined;
  /** Id of the compaction pass to wait for. If that pass has already ended, the wait ends at once. */
  readonly passId?: string | undefined;
}

export const ANSWER_ENDS = ['cut_off', 'refusal'] as const;
/** How an incomplete answer ended: at the maximum output, or because the model or its provider declined. */
export type AnswerEnd = (typeof ANSWER_ENDS)[number];

/**
 * Stored record of a step. A step that is `started` without an outcome was interrupted by a crash. It is unknown
 * whether such a step took effect.
 */
export const stepRecordSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('started'), at: z.number() }),
  z.object({
    status: z.literal('done'),
    /** First and last sequence number of the messages that the step appended. Absent if it appended none. */
    seqs: z.object({ from: z.number(), to: z.number() }).optional(),
    /** How the model's answer ended, if it is incomplete. */
    end: z.enum(ANSWER_ENDS).optional(),
    at: z.number(),
  }),
]);

export type StepRecord = z.infer<typeof stepRecordSchema>;

/** Limits that a caller sets for one turn. */
export interface TurnCaps {
  /** Time from the acceptance, or from the due time of a delayed turn, in which the turn must be settled, in ms. */
  readonly deadlineMs?: number | undefined;
  /** Maximum tokens of all model calls of the turn together, input and output. */
  readonly maxTurnTokens?: number | undefined;
}

/** Why a turn failed, as stored and returned to callers. */
export interface TurnFailure {
  /** Error code, for programs. */
  readonly code: ErrorCode;
  readonly message: string;
  /** Numbers and ids that explain the failure, without contents. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The final answer of a completed turn. */
export interface TurnAnswer<Value = unknown> {
  /** Sequence number of the answer in the log. */
  readonly seq: number;
  readonly content: string;
  /** How the answer ended, if it is incomplete. */
  readonly end?: AnswerEnd;
  /** The answer as a JSON value, if the agent has a schema for its answers. */
  readonly value?: Value;
}

/** Properties that a turn has in every state. */
export interface TurnFacts {
  readonly turn: string;
  readonly agent: string;
  /** Time of acceptance in ms since epoch, by the clock of Redis. */
  readonly acceptedAt: number;
  /** Sequence number of the user message in the log. Absent until a worker first claims the turn. */
  readonly inputSeq?: number;
  /** Failed turn whose input this turn runs again. */
  readonly redriveOf?: string;
  /** Running turn into which the message of this turn went (`onBusy: 'steer'`). Both turns end together, with one answer. */
  readonly steeredInto?: string;
  /** Ids of the last 16 requests that brought answers to calls of this turn, oldest first. */
  readonly requests?: readonly string[];
  /** Tokens of each model request of this turn, counted by turnfold, in order. */
  readonly requestTokens: readonly number[];
  /** Token usage of all model calls so far, counted by the providers. */
  readonly usage?: TurnUsage;
}

/** Token usage, counted by providers. */
export interface TurnUsage {
  /** All input tokens, including cached ones. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of `inputTokens` that providers read from their caches. Absent: none. */
  readonly cachedTokens?: number;
  /** Price of the calls in millionths of a US dollar. Absent if no prices are known for the models. */
  readonly costMicros?: number;
}

/** A turn that has not settled and is not waiting. */
export interface OpenTurnView extends TurnFacts {
  /** `scheduled` until its due time, `queued` behind other turns, `running` at a worker. */
  readonly state: 'scheduled' | 'queued' | 'running';
  readonly settledAt?: undefined;
  readonly waiting?: undefined;
  readonly answer?: undefined;
  /** Absent: only a canceled turn has a stopped text. */
  readonly stopped?: undefined;
  readonly failure?: undefined;
  readonly redrivenAs?: undefined;
}

/** A suspended turn, which uses no worker until its wait ends. */
export interface WaitingTurnView extends Omit<OpenTurnView, 'state' | 'waiting'> {
  readonly state: 'waiting';
  /** Kind and deadline of the turn's wait. */
  readonly waiting: Waiting;
}

/** A turn that ended with an answer. */
export interface CompletedTurnView<Value = unknown> extends Omit<OpenTurnView, 'state' | 'settledAt' | 'answer'> {
  readonly state: 'completed';
  /** Time when the turn ended in ms since epoch, by the clock of Redis. */
  readonly settledAt: number;
  readonly answer: TurnAnswer<Value>;
}

/** A turn that ended with an error. */
export interface FailedTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'failure' | 'redrivenAs'> {
  readonly state: 'failed';
  /** Time when the turn ended in ms since epoch, by the clock of Redis. */
  readonly settledAt: number;
  readonly failure: TurnFailure;
  /** Latest turn that ran this turn's input again. */
  readonly redrivenAs?: string;
}

/** A turn that a caller canceled. */
export interface CanceledTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'stopped'> {
  readonly state: 'canceled';
  /** Time when the turn ended in ms since epoch, by the clock of Redis. */
  readonly settledAt: number;
  /** The text that its readers had seen, which the log has as a message with the mark `stopped`. */
  readonly stopped?: Pick<TurnAnswer, 'seq' | 'content'>;
}

/** A turn as the client API returns it. `state` decides which other fields are present. */
export type TurnView<Value = unknown> =
  | OpenTurnView
  | WaitingTurnView
  | CompletedTurnView<Value>
  | FailedTurnView
  | CanceledTurnView;

/** Failure of a turn after several processes died on it, the last one while it ran nothing else. */
export const POISON_FAILURE: TurnFailure = {
  code: 'poison',
  message: `The turn failed: at least ${TURN_LIMITS.maxAttempts} claims of it ended without an outcome. In the last one, the process ran nothing else. Read the logs of those workers.`,
  details: { attempts: TURN_LIMITS.maxAttempts },
};
