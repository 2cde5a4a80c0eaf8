import type { PassPlan } from '../compaction/plan.ts';
import type { ConversationRef, TraceParent } from '../ids.ts';

/** Kind of work that a wake announces. */
export type WakeKind = 'turn' | 'pass';

export interface WakeOptions {
  readonly priority?: number;
  /** Span of the requester of a pass. A wake that the sweeper adds has none. */
  readonly askedIn?: TraceParent | undefined;
}

/**
 * Queue of wakes. A wake says "look at this conversation" and carries no state. A lost wake costs latency, a repeated one
 * nothing.
 */
export interface WakeQueue {
  /**
   * Adds a wake. Adding the same wake twice adds one.
   * @param wake id that the store recorded
   */
  wake(kind: WakeKind, conversation: ConversationRef, wake: string, options?: WakeOptions): Promise<void>;
  /**
   * Checks whether a wake is waiting, prioritized or delayed. Active jobs and jobs that wait for children do not count.
   */
  isPending(kind: WakeKind, conversation: ConversationRef, wake: string): Promise<boolean>;
}

/** Data of one summarization job: small, without contents. */
export interface SummarizationTask {
  readonly conversation: ConversationRef;
  readonly passId: string;
  /** Seqs of the sequence, and its tokens in the context. A summary must be smaller. */
  readonly sequence: PassPlan['sequences'][number];
  /** Key of the summary, by which jobs with the same source find one result. */
  readonly hash: string;
  /** Span of the pass. */
  readonly askedIn?: TraceParent | undefined;
}

/**
 * Nothing was taken, or it was handed back. The queue delivers the job again after `delayMs`, without counting an
 * attempt.
 */
export interface Postponed {
  readonly status: 'postponed';
  readonly delayMs: number;
}

export type TurnDeliveryResult =
  | { readonly status: 'done' }
  /** Another worker owns the turn, or it was canceled or erased. This worker wrote nothing more. */
  | { readonly status: 'lost' }
  | Postponed;

/** Handles one delivery of a turn job. It throws outages of Redis, and a `BrokenDelivery` for unexpected errors. */
export type TurnHandler = (conversation: ConversationRef) => Promise<TurnDeliveryResult>;

/** One delivery of a pass job. */
export interface PassDelivery {
  readonly conversation: ConversationRef;
  readonly job: string;
  /** True if all children of the job have ended. The handler then settles with their results. */
  readonly haveChildrenEnded: boolean;
  /** Span of the requester of the pass. */
  readonly askedIn?: TraceParent | undefined;
}

export type PassDeliveryResult =
  | { readonly status: 'done' }
  | Postponed
  /** The queue runs these tasks as children of the job, then delivers the job again. */
  | { readonly status: 'parked'; readonly children: readonly (SummarizationTask & { readonly child: string })[] };

export type PassHandler = (delivery: PassDelivery) => Promise<PassDeliveryResult>;

export interface SummarizationDelivery {
  readonly task: SummarizationTask;
  /** Time of the request by the pass, in ms since epoch. */
  readonly askedAt: number;
  readonly isLastAttempt: boolean;
}

export type SummarizationResult =
  | Postponed
  /** How the job ended, also after a failure. A failed child job could make its parent wait for ever. */
  | { readonly status: 'ended'; readonly outcome: 'written' | 'known' | 'refused' | 'failed' | 'superseded' }
  /**
   * Another job works on the same source. The queue delivers this one again in a second, without counting an attempt.
   */
  | { readonly status: 'in_flight' }
  /** A provider asked to wait until `retryAt` (ms since epoch). The queue waits without counting an attempt. */
  | { readonly status: 'limited'; readonly retryAt: number };

/** Handles one delivery of a summarization job. It throws errors that a retry may avoid, except on the last attempt. */
export type SummarizationHandler = (delivery: SummarizationDelivery) => Promise<SummarizationResult>;
