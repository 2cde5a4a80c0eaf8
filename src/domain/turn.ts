import { z } from 'zod';
import type { ErrorCode } from './errors.ts';
import type { TraceParent } from './trace-parent.ts';

export const TURN_STATES = ['scheduled', 'queued', 'running', 'waiting', 'completed', 'failed', 'canceled'] as const;
export type TurnState = (typeof TURN_STATES)[number];

export const WAIT_KINDS = ['tools', 'approval', 'compaction', 'retry'] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

/**
 * What moves a turn. Every other pair of state and event is refused. This is what is specified: the store's scripts decide, and
 * the contract suite holds every store to it.
 */
export type TurnEvent =
  | 'accept'
  | 'schedule'
  | 'become_due'
  | 'claim'
  | 'release'
  | 'suspend'
  | 'complete'
  | 'fail'
  | 'cancel';

const TRANSITIONS: Readonly<Record<TurnState | 'none', Partial<Record<TurnEvent, TurnState>>>> = {
  none: { accept: 'queued', schedule: 'scheduled' },
  scheduled: { become_due: 'queued', cancel: 'canceled' },
  queued: { claim: 'running', fail: 'failed', cancel: 'canceled' },
  running: {
    claim: 'running',
    release: 'queued',
    suspend: 'waiting',
    complete: 'completed',
    fail: 'failed',
    cancel: 'canceled',
  },
  waiting: { claim: 'running', fail: 'failed', cancel: 'canceled' },
  completed: {},
  failed: {},
  canceled: {},
};

/** The state after `event`, or undefined where the event is not allowed. A settled turn allows none. */
export function nextTurnState(state: TurnState | 'none', event: TurnEvent): TurnState | undefined {
  return TRANSITIONS[state][event];
}

export function isSettled(state: TurnState): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled';
}

/** Times and budgets of turns. All times in ms. */
export const TURN_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /** claims without an outcome; if the last of them died alone in its process, the next settles the turn as `poison` */
  maxAttempts: 3,
  /**
   * times one step may be suspended for a pass or a retry; one more settles the turn as `retries_exhausted`. Waits for
   * answers do not count: each deadline that passes answers a call
   */
  maxSuspensions: 20,
  maxSteps: 50,
  stepTimeoutMs: 600_000,
  /** how long a call waits for its answer or approval, unless its tool says otherwise (7 d) */
  answerWithinMs: 604_800_000,
  compactionWaitMs: 20_000,
  maxQueuedTurns: 1_000,
  turnRetentionMs: 604_800_000,
} as const;

/** The waits that a person or another program ends, with `answer`. */
export const ANSWER_KINDS = ['tools', 'approval'] as const satisfies readonly WaitKind[];
export type AnswerKind = (typeof ANSWER_KINDS)[number];

export function isAnswerKind(kind: WaitKind): kind is AnswerKind {
  return ANSWER_KINDS.some((answered) => answered === kind);
}

export const waitingCallSchema = z.object({
  /** the call's id in the log: what `answer` takes */
  id: z.string(),
  /** the tool */
  name: z.string(),
  /** a JSON object as text, exactly as the model wrote it */
  arguments: z.string(),
  /** ms since epoch, by the store's clock; past it the call is answered as `timeout`, or `denied` for an approval */
  until: z.number(),
});

/** A call that waits for its result or for a decision. */
export type WaitingCall = z.infer<typeof waitingCallSchema>;

export const waitingSchema = z.object({
  /** `tools`: results from outside; `approval`: decisions of a person; `compaction`: a pass; `retry`: the model's provider */
  for: z.enum(WAIT_KINDS),
  /** the step that waits */
  step: z.string(),
  /** ms since epoch, by the store's clock: when the turn was suspended */
  since: z.number(),
  /** ms since epoch, by the store's clock: the turn goes on then at the latest. For calls, the earliest of their deadlines */
  until: z.number(),
  /** calls whose answer or approval is awaited; empty for `compaction` and `retry` */
  calls: z.array(waitingCallSchema),
});

/** What a suspended turn waits for. */
export type Waiting = z.infer<typeof waitingSchema>;

/** A call to wait for: the store sets the deadline by its own clock. */
export interface CallToWaitFor extends Omit<WaitingCall, 'until'> {
  /** ms from the suspension to the call's deadline; a call that the turn waited for before keeps its deadline */
  readonly waitMs: number;
}

/** A wait as it is asked for: the store sets its deadline by its own clock, so that the caller's may be wrong. */
export interface WaitRequest extends Omit<Waiting, 'since' | 'until' | 'calls'> {
  readonly calls: readonly CallToWaitFor[];
  /** ms from the suspension to the deadline. For calls, the shortest of theirs */
  readonly waitMs: number;
  /** the span that ends here, for the one that goes on */
  readonly suspendedIn?: TraceParent | undefined;
  /** of a wait for compaction: the pass that was asked for. If that pass is not open, the wait is over at once */
  readonly passId?: string | undefined;
}

export const ANSWER_ENDS = ['cut_off', 'refusal'] as const;
/** How an answer ended that is not complete: at the output cap, or because the model or its provider declined. */
export type AnswerEnd = (typeof ANSWER_ENDS)[number];

/** What is kept of a step. `started` without an outcome after a crash: nobody knows whether it took effect. */
export const stepRecordSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('started'), at: z.number() }),
  z.object({
    status: z.literal('done'),
    /** seqs of the messages that the step appended; absent where it appended none */
    seqs: z.object({ from: z.number(), to: z.number() }).optional(),
    /** of a model step whose answer is not complete */
    end: z.enum(ANSWER_ENDS).optional(),
    at: z.number(),
  }),
]);

export type StepRecord = z.infer<typeof stepRecordSchema>;

/** Why a turn failed, as kept and shown. */
export interface TurnFailure {
  /** what to react to */
  readonly code: ErrorCode;
  /** for a person */
  readonly message: string;
  /** figures and ids that explain it; never contents */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The answer of a completed turn. */
export interface TurnAnswer {
  /** its place in the log */
  readonly seq: number;
  /** its text */
  readonly content: string;
  /** where the answer is not complete: why it ended */
  readonly end?: AnswerEnd;
}

/** What every turn has, whatever its state. */
export interface TurnFacts {
  /** id of the turn */
  readonly turn: string;
  /** name of the agent that answers it */
  readonly agent: string;
  /** ms since epoch, by the store's clock */
  readonly acceptedAt: number;
  /** seq of the user message; absent until the first claim */
  readonly inputSeq?: number;
  /** the failed turn whose input this one brings again */
  readonly redriveOf?: string;
  /** our own size of each model call's request, in order, in tokens */
  readonly requestTokens: readonly number[];
  /** tokens of all model calls so far, as the providers counted them */
  readonly usage?: TurnUsage;
}

/** Tokens as providers count them. */
export interface TurnUsage {
  /** read, cached ones included */
  readonly inputTokens: number;
  /** written */
  readonly outputTokens: number;
}

/** A turn that is not settled, and waits for nobody. */
export interface OpenTurnView extends TurnFacts {
  /** `scheduled` until it is due, `queued` behind others, `running` at a worker */
  readonly state: 'scheduled' | 'queued' | 'running';
  /** only of a settled turn */
  readonly settledAt?: undefined;
  /** only of a waiting turn */
  readonly waiting?: undefined;
  /** only of a completed turn */
  readonly answer?: undefined;
  /** only of a failed turn */
  readonly failure?: undefined;
  /** only of a failed turn */
  readonly redrivenAs?: undefined;
}

/** A turn that holds no worker before what it waits for has come. */
export interface WaitingTurnView extends Omit<OpenTurnView, 'state' | 'waiting'> {
  /** it waits */
  readonly state: 'waiting';
  /** for what, and until when */
  readonly waiting: Waiting;
}

/** A turn with its answer. */
export interface CompletedTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'answer'> {
  /** it was answered */
  readonly state: 'completed';
  /** ms since epoch, by the store's clock */
  readonly settledAt: number;
  /** what the agent answered */
  readonly answer: TurnAnswer;
}

/** A turn that ended without an answer. */
export interface FailedTurnView extends Omit<OpenTurnView, 'state' | 'settledAt' | 'failure' | 'redrivenAs'> {
  /** it failed */
  readonly state: 'failed';
  /** ms since epoch, by the store's clock */
  readonly settledAt: number;
  /** why */
  readonly failure: TurnFailure;
  /** the turn that brought its input again last */
  readonly redrivenAs?: string;
}

/** A turn that somebody canceled. */
export interface CanceledTurnView extends Omit<OpenTurnView, 'state' | 'settledAt'> {
  /** it was canceled */
  readonly state: 'canceled';
  /** ms since epoch, by the store's clock */
  readonly settledAt: number;
}

/** A turn as its caller sees it. `state` says which of the other fields there are. */
export type TurnView = OpenTurnView | WaitingTurnView | CompletedTurnView | FailedTurnView | CanceledTurnView;

/** Failure of a poison turn: its last worker died with nothing else in its process. */
export const POISON_FAILURE: TurnFailure = {
  code: 'poison',
  message: `The turn was given up: ${TURN_LIMITS.maxAttempts} workers took it and died, hung or failed without recording an outcome, the last of them with nothing else in its process; their logs say why.`,
  details: { attempts: TURN_LIMITS.maxAttempts },
};
