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
  beatMs: 2_000,
  /** claims without an outcome; if the last of them died alone in its process, the next settles the turn as `poison` */
  maxAttempts: 3,
  /** times one step may be suspended; one more settles the turn as `retries_exhausted` */
  maxSuspensions: 20,
  maxSteps: 50,
  stepTimeoutMs: 600_000,
  toolsWaitMs: 86_400_000,
  approvalWaitMs: 86_400_000,
  compactionWaitMs: 20_000,
  maxQueuedTurns: 1_000,
  turnRetentionMs: 604_800_000,
} as const;

export const waitingSchema = z.object({
  /** `tools`: results from outside; `approval`: a person; `compaction`: a pass; `retry`: the model's provider */
  for: z.enum(WAIT_KINDS),
  /** the step that waits */
  step: z.string(),
  /** ms since epoch, by the store's clock once it is kept; past it the turn goes on without what it waited for */
  until: z.number(),
  /** calls whose answer or approval is awaited; empty for `compaction` and `retry` */
  calls: z.array(z.string()),
});

/** What a suspended turn waits for. */
export type Waiting = z.infer<typeof waitingSchema>;

/** A wait as it is asked for: the store sets its deadline by its own clock, so that the caller's may be wrong. */
export interface WaitRequest extends Omit<Waiting, 'until'> {
  /** from the suspension to the deadline */
  readonly waitMs: number;
  /** the span that ends here, for the one that goes on */
  readonly suspendedIn?: TraceParent | undefined;
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
