import { z } from 'zod';
import { boundedList, boundedRecord } from './bounded-schemas.ts';
import type { ErrorCode } from './errors.ts';
import type { TraceParent } from './ids.ts';
import { decisionSchema, MAX_CALLS } from './message.ts';

export const TURN_STATES = ['scheduled', 'queued', 'running', 'waiting', 'completed', 'failed', 'canceled'] as const;
export type TurnState = (typeof TURN_STATES)[number];

export const WAIT_KINDS = ['tools', 'approval', 'compaction', 'retry'] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

export const SETTLED_STATES = ['completed', 'failed', 'canceled'] as const satisfies readonly TurnState[];

export function isSettled(state: TurnState): boolean {
  return SETTLED_STATES.some((settled) => settled === state);
}

export const TURN_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /**
   * Maximum claims without progress. If the process of the last claim died while it ran nothing else, the turn settles
   * as `poison` (invariant I10).
   */
  maxAttempts: 3,
  /** Maximum suspensions of one step for compaction. One more fails the turn with `retries_exhausted`. */
  maxSuspensions: 20,
  maxSteps: 50,
  stepTimeoutMs: 600_000,
  /** Time that a call waits for its answer: 7 days, unless the tool sets another time. */
  answerWithinMs: 604_800_000,
  compactionWaitMs: 20_000,
  maxQueuedTurns: 1_000,
  turnRetentionMs: 604_800_000,
  /** Maximum messages, and bytes of their JSON, of a context that a claim returns. */
  claimedMessages: 32,
  claimedBytes: 16_384,
} as const;

/**
 * Treatment of a turn while an earlier one is open. `interrupt` cancels the first earlier turn and takes its place,
 * `rollback` also takes that turn's messages out of the context. `steer`: the message goes into the running turn before
 * the next model call.
 */
export const ON_BUSY_VALUES = ['enqueue', 'reject', 'interrupt', 'rollback', 'steer'] as const;
export type OnBusy = (typeof ON_BUSY_VALUES)[number];

/** These waits end when a caller sends `answer`. */
export const ANSWER_KINDS = ['tools', 'approval'] as const satisfies readonly WaitKind[];
export type AnswerKind = (typeof ANSWER_KINDS)[number];

export function isAnswerKind(kind: WaitKind): kind is AnswerKind {
  return ANSWER_KINDS.some((answered) => answered === kind);
}

export type RecordedDecision = z.infer<typeof decisionSchema>;

/** @param verdict recorded verdict of the answer: `approved`, `denied`, or the hash of a delivered result */
export function describeDecision(verdict: string, at: number, by = ''): RecordedDecision {
  const isApproval = verdict === 'approved' || verdict === 'denied';
  return { ...(isApproval && { approved: verdict === 'approved' }), at, ...(by !== '' && { by }) };
}

export const waitingCallSchema = z.object({
  /** Id of the call, to be passed to `answer`. */
  id: z.string(),
  name: z.string(),
  /** JSON object as text, exactly as the model wrote it. */
  arguments: z.string(),
  /** Input of `run` after approval, as JSON. Absent for calls of an earlier release. */
  input: z.string().optional(),
  /** Present if JSON cannot hold the input, e.g. a `Date`. `input` is then a text for people, by `util.inspect`. */
  isShownOnly: z.literal(true).optional(),
  /**
   * Hash of this very call. An answer with the hash of another call is refused. Absent for calls of an earlier release.
   */
  hash: z.string().optional(),
  /** Absent while the call has no answer. */
  decision: decisionSchema.optional(),
  /** Deadline in ms since epoch, by the clock of Redis. Then the result is `timeout`, or `denied` for an approval. */
  until: z.number(),
});

export type WaitingCall = z.infer<typeof waitingCallSchema>;

export const waitingSchema = z.object({
  /** Event that ends the wait. `retry` is a wait for the model's provider. */
  for: z.enum(WAIT_KINDS),
  step: z.string(),
  /** In ms since epoch, by the clock of Redis. */
  since: z.number(),
  /** Latest time at which the turn continues, in ms since epoch. For tool calls: their earliest deadline. */
  until: z.number(),
  /** Empty for `compaction` and `retry`. */
  calls: boundedList(waitingCallSchema, MAX_CALLS),
});

export type Waiting = z.infer<typeof waitingSchema>;

/** Part of a waiting call that does not change before the call has a result. */
export type RecordedCall = Omit<WaitingCall, 'until' | 'decision'>;

export interface CallToWaitFor extends RecordedCall {
  /** Ms until the deadline. A call for which the turn already waited keeps its first deadline. */
  readonly waitMs: number;
}

/** A wait without its deadlines, which Redis computes by its own clock, because a worker's clock may be wrong. */
export interface WaitRequest extends Omit<Waiting, 'since' | 'until' | 'calls'> {
  readonly calls: readonly CallToWaitFor[];
  /** Ms until the wait ends. For tool calls: the shortest wait among the calls. */
  readonly waitMs: number;
  /** Ms from the first suspension of this kind to the failure of the turn. Absent: `maxSuspensions` limits them. */
  readonly maxMs?: number | undefined;
  /** True if the gate of the model chose the time. Not counted as a retry. */
  readonly isHeld?: boolean | undefined;
  /** Span that was suspended. The span that continues the turn links to this span. */
  readonly suspendedIn?: TraceParent | undefined;
  /** Pass for which the turn waits. If this pass has already ended, the wait ends at once. */
  readonly passId?: string | undefined;
}

export const ANSWER_ENDS = ['cut_off', 'refusal'] as const;
/** `cut_off`: at the maximum output. `refusal`: the model or its provider declined. */
export type AnswerEnd = (typeof ANSWER_ENDS)[number];

/** A crash interrupted a step that is `started` without an outcome. It may have taken effect. */
export const stepRecordSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('started'), at: z.number() }),
  z.object({
    status: z.literal('done'),
    seqs: z.object({ from: z.number(), to: z.number() }).optional(),
    end: z.enum(ANSWER_ENDS).optional(),
    at: z.number(),
  }),
]);

export type StepRecord = z.infer<typeof stepRecordSchema>;

export interface TurnCaps {
  /** Ms from the acceptance, or from the due time of a delayed turn, to the settlement. */
  readonly deadlineMs?: number | undefined;
  /** Maximum input and output tokens of all model calls together. */
  readonly maxTurnTokens?: number | undefined;
}

/** The same bounds as OpenAI's metadata, so that its protocol refuses nothing that turnfold takes. */
const METADATA = { keys: 16, keyCharacters: 64, valueCharacters: 512 } as const;

export const metadataSchema = boundedRecord(
  z.string().min(1).max(METADATA.keyCharacters),
  z.string().max(METADATA.valueCharacters),
  METADATA.keys,
);

/** Names and values that a caller attaches to a turn. No model and no agent reads them. */
export type TurnMetadata = Readonly<Record<string, string>>;

export interface TurnFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Numbers and ids, without contents. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface TurnAnswer<Value = unknown> {
  /** Position in the log. */
  readonly seq: number;
  readonly content: string;
  /** How the answer ended, if it is incomplete. */
  readonly end?: AnswerEnd;
  /** Present if the agent has a schema for its answers. */
  readonly value?: Value;
}

export interface TurnFacts {
  readonly turn: string;
  readonly agent: string;
  /** In ms since epoch, by the clock of Redis. */
  readonly acceptedAt: number;
  /** Seq of the user message. Absent until a worker first claims the turn. */
  readonly inputSeq?: number;
  /** Failed turn whose input this turn runs again. */
  readonly redriveOf?: string;
  /** Given by the caller of the turn. */
  readonly metadata?: TurnMetadata;
  /** Running turn that took this turn's message (`onBusy: 'steer'`). Both end together, with one answer. */
  readonly steeredInto?: string;
  /** The last 16 requests that brought answers to calls, oldest first. */
  readonly requests?: readonly string[];
  /** Tokens of each model request, counted by turnfold, in order. */
  readonly requestTokens: readonly number[];
  /** Token usage of all model calls so far, counted by the providers. */
  readonly usage?: TurnUsage;
}

export interface TurnUsage {
  /** Input tokens, including cached tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of `inputTokens`. Absent: no cached tokens. */
  readonly cachedTokens?: number;
  /** Millionths of a US dollar. Absent if no prices are known. */
  readonly costMicros?: number;
}

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

/** A turn that waits. It uses no worker until its wait ends. */
export interface WaitingTurnView extends Omit<OpenTurnView, 'state' | 'waiting'> {
  readonly state: 'waiting';
  readonly waiting: Waiting;
}

export interface CompletedTurnView<Value = unknown> extends Omit<OpenTurnView, 'state' | 'settledAt' | 'answer'> {
  readonly state: 'completed';
  /** In ms since epoch, by the clock of Redis. */
  readonly settledAt: number;
  readonly answer: TurnAnswer<Value>;
}

export interface FailedTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'failure' | 'redrivenAs'> {
  readonly state: 'failed';
  readonly settledAt: number;
  readonly failure: TurnFailure;
  /** Latest turn that ran this turn's input again. */
  readonly redrivenAs?: string;
}

export interface CanceledTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'stopped'> {
  readonly state: 'canceled';
  readonly settledAt: number;
  /** Streamed text of a canceled turn that readers had seen. In the log, the text has the mark `stopped`. */
  readonly stopped?: Pick<TurnAnswer, 'seq' | 'content'>;
}

/** `state` decides which other fields are present. */
export type TurnView<Value = unknown> =
  | OpenTurnView
  | WaitingTurnView
  | CompletedTurnView<Value>
  | FailedTurnView
  | CanceledTurnView;

/** Failure of a turn after whose last claim the process died, although it ran nothing else. */
export const POISON_FAILURE: TurnFailure = {
  code: 'poison',
  message: `The turn failed: at least ${TURN_LIMITS.maxAttempts} claims of it ended without an outcome. In the last one, the process ran nothing else. Read the logs of those workers.`,
  details: { attempts: TURN_LIMITS.maxAttempts },
};

/** Once the last call has an answer, the turn waits only for a worker. @param state as recorded */
export function viewWait<State extends TurnState>(
  state: State,
  waiting: Waiting | undefined,
): { readonly state: State | 'queued'; readonly waiting?: Waiting } {
  if (state !== 'waiting' || waiting === undefined) return { state };
  const isOver = isAnswerKind(waiting.for) && waiting.calls.every(({ decision }) => decision !== undefined);
  return isOver ? { state: 'queued' } : { state, waiting };
}
