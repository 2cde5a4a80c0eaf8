import type { ConversationRef, TraceParent } from '../domain/ids.ts';
import type { PassPlan } from '../domain/pass-plan.ts';

export type WakeKind = 'turn' | 'pass';

export interface WakeOptions {
  readonly priority?: number;
  /** Absent for jobs that the sweeper adds. */
  readonly traceParent?: TraceParent | undefined;
}

/** Adds jobs that say "look at this conversation". A lost job costs only time, and a repeated job does nothing. */
export interface WakeQueue {
  /**
   * Adds a job, or, if many jobs wait already, a due wake (a cheap entry without a job). Repeated calls with the same
   * `wake` add it once.
   */
  wake(kind: WakeKind, conversation: ConversationRef, wake: string, options?: WakeOptions): Promise<void>;
  /**
   * True if the wake will still be delivered: as a waiting, prioritized or delayed job, or as a due wake. Running jobs,
   * and jobs that wait for children, do not count. Removes a due wake that no worker would find. Signals an idle worker
   * again, because the worker that took the first signal may have died.
   */
  isPending(kind: WakeKind, conversation: ConversationRef, wake: string): Promise<boolean>;
  /** Removes finished jobs of the inbox and their events. `all` also removes jobs and wakes that have not begun. */
  eraseJobs(conversations: readonly ConversationRef[], jobs: ErasedJobs): Promise<void>;
}

/** `ended` keeps jobs that have not begun, which may create the conversation again. */
export type ErasedJobs = 'all' | 'ended';

export interface SummarizationTask {
  readonly conversation: ConversationRef;
  readonly passId: string;
  /** Messages to summarize, with the maximum tokens of their summary. */
  readonly sequence: PassPlan['sequences'][number];
  /** Hash under which the summary is stored. Jobs with the same source have the same hash. */
  readonly hash: string;
  readonly traceParent?: TraceParent | undefined;
}

/**
 * The worker did not take the work, or handed it back. The queue delivers the job again, without counting an attempt.
 */
export interface Postponed {
  readonly status: 'postponed';
  readonly delayMs: number;
}

export type TurnDeliveryResult =
  | { readonly status: 'done' }
  /** Another worker owns the turn, or the turn was canceled or erased. This worker wrote nothing more. */
  | { readonly status: 'lost' }
  | Postponed;

/**
 * Handles the turns of a conversation. If Redis is down, throws its error. Throws any other failure as
 * `BrokenDelivery`.
 */
export type TurnHandler = (conversation: ConversationRef) => Promise<TurnDeliveryResult>;

export interface PassDelivery {
  readonly conversation: ConversationRef;
  readonly job: string;
  /** True if all summarization jobs of the pass have ended, so the worker finishes the pass with their results. */
  readonly haveChildrenEnded: boolean;
  readonly traceParent?: TraceParent | undefined;
}

export type PassDeliveryResult =
  | { readonly status: 'done' }
  | Postponed
  /** The queue runs the children as child jobs, and delivers this job again when all have ended. */
  | { readonly status: 'parked'; readonly children: readonly (SummarizationTask & { readonly child: string })[] };

export type PassHandler = (delivery: PassDelivery) => Promise<PassDeliveryResult>;

export interface SummarizationDelivery {
  readonly task: SummarizationTask;
  /** ms since epoch. */
  readonly requestedAt: number;
  readonly isLastAttempt: boolean;
}

export type SummarizationResult =
  | Postponed
  /** The job has ended. A failure is returned as well: a child job that fails could make its parent wait for ever. */
  | { readonly status: 'ended'; readonly outcome: 'written' | 'known' | 'refused' | 'failed' | 'superseded' }
  /** Another job summarizes the same messages. The job is delivered again in a second, without counting an attempt. */
  | { readonly status: 'in_flight' }
  /** A rate limit. The job is delivered again at `retryAt` (ms since epoch), without counting an attempt. */
  | { readonly status: 'limited'; readonly retryAt: number };

/** A job that another service added. Every field is untrusted, and the data can be any JSON. */
export interface InboxJob {
  readonly id: string;
  readonly name: string;
  /** Time in ms since epoch, as the producer of the job wrote it. */
  readonly addedAt: number;
  readonly data: unknown;
}

/**
 * Moves a job of the inbox to the mailbox of its conversation. The queue stores the result with the job.
 * @throws a coded error if the job is not accepted
 */
export type InboxHandler = (job: InboxJob) => Promise<{ readonly isNew: boolean }>;

/** Summarizes one sequence. Throws errors that a retry may avoid, except on the last attempt. */
export type SummarizationHandler = (delivery: SummarizationDelivery) => Promise<SummarizationResult>;
