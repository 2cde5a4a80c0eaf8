import { z } from 'zod';
import type { TraceParent } from './trace-parent.ts';

export const TURN_STATES = ['scheduled', 'queued', 'running', 'waiting', 'completed', 'failed', 'canceled'] as const;
export type TurnState = (typeof TURN_STATES)[number];

export const WAIT_KINDS = ['tools', 'approval', 'compaction', 'retry'] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

/**
 * What moves a turn. Every other pair of state and event is refused. This is what is specified: the store's scripts decide, and
 * the contract suite holds every store to it.
 */
export type TurnEvent = 'accept' | 'schedule' | 'become_due' | 'claim' | 'suspend' | 'complete' | 'fail' | 'cancel';

const TRANSITIONS: Readonly<Record<TurnState | 'none', Partial<Record<TurnEvent, TurnState>>>> = {
  none: { accept: 'queued', schedule: 'scheduled' },
  scheduled: { become_due: 'queued', cancel: 'canceled' },
  queued: { claim: 'running', fail: 'failed', cancel: 'canceled' },
  running: { claim: 'running', suspend: 'waiting', complete: 'completed', fail: 'failed', cancel: 'canceled' },
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
  /** claims since the last recorded outcome; one more settles the turn as `poison` */
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
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A turn as its caller sees it. */
export interface TurnView {
  readonly turn: string;
  readonly state: TurnState;
  readonly agent: string;
  /** ms since epoch, by the store's clock */
  readonly acceptedAt: number;
  /** the same; absent before */
  readonly settledAt?: number;
  readonly waiting?: Waiting;
  /** seq of the user message; absent until the first claim */
  readonly inputSeq?: number;
  /** of a completed turn: seq and text of the answer; `end` where that is not complete */
  readonly answer?: { readonly seq: number; readonly content: string; readonly end?: AnswerEnd };
  readonly failure?: TurnFailure;
  /** the failed turn whose input this one brings again */
  readonly redriveOf?: string;
  /** of a failed turn: the turn that brought its input again last */
  readonly redrivenAs?: string;
  /** our own size of each model call's request, in order, in tokens */
  readonly requestTokens: readonly number[];
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
}
