import type { ConversationRef, TraceParent } from '../domain/ids.ts';
import type { PassPlan } from '../domain/pass-plan.ts';

/** Kind of work for which a worker is woken: a turn or a compaction pass. */
export type WakeKind = 'turn' | 'pass';

export interface WakeOptions {
  readonly priority?: number;
  /** Trace span that requested the compaction pass. Absent for jobs that the sweeper adds. */
  readonly traceParent?: TraceParent | undefined;
}

/**
 * Queue of jobs that say "look at this conversation". Such a job carries no state: a lost one costs only time, and a
 * repeated one does nothing.
 */
export interface WakeQueue {
  /**
   * Adds a job that wakes a worker, or a due wake if enough jobs wait. Adding the same wake twice adds it once.
   * @param wake id of the job, which the store has recorded
   */
  wake(kind: WakeKind, conversation: ConversationRef, wake: string, options?: WakeOptions): Promise<void>;
  /**
   * Checks whether a wake still waits in the queue, prioritized, delayed or due. Running jobs and jobs that wait for
   * child jobs do not count. A due wake that no worker would find is removed. If the job waits, the queue signals an idle
   * worker again, because the first worker may have died.
   */
  isPending(kind: WakeKind, conversation: ConversationRef, wake: string): Promise<boolean>;
  /**
   * Removes what the queues hold of erased conversations: finished jobs of the inbox, and the events of those jobs. `all` also
   * removes jobs and wakes that have not begun.
   */
  eraseJobs(conversations: readonly ConversationRef[], jobs: ErasedJobs): Promise<void>;
}

/** Jobs that an erase removes. `ended`: jobs that have not begun stay, and may create the conversation again. */
export type ErasedJobs = 'all' | 'ended';

/** Data of one summarization job, without messages. */
export interface SummarizationTask {
  readonly conversation: ConversationRef;
  readonly passId: string;
  /** The sequence to summarize, with the maximum tokens of its summary. */
  readonly sequence: PassPlan['sequences'][number];
  /** Key under which the summary is stored. Jobs with the same source share it. */
  readonly hash: string;
  /** Trace span of the compaction pass. */
  readonly traceParent?: TraceParent | undefined;
}

/**
 * The worker did not take the work, or handed it back. The queue delivers the job again after `delayMs` without
 * counting an attempt.
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

/** Runs one delivery of a turn job. Throws the error if Redis is down, and a `BrokenDelivery` for unexpected errors. */
export type TurnHandler = (conversation: ConversationRef) => Promise<TurnDeliveryResult>;

/** One delivery of a compaction job. */
export interface PassDelivery {
  readonly conversation: ConversationRef;
  readonly job: string;
  /**
   * True if all summarization jobs of this job have ended. The worker then finishes the compaction pass with their
   * results.
   */
  readonly haveChildrenEnded: boolean;
  /** Trace span that requested the compaction pass. */
  readonly traceParent?: TraceParent | undefined;
}

export type PassDeliveryResult =
  | { readonly status: 'done' }
  | Postponed
  /** The queue runs these tasks as child jobs and delivers this job again when all have ended. */
  | { readonly status: 'parked'; readonly children: readonly (SummarizationTask & { readonly child: string })[] };

export type PassHandler = (delivery: PassDelivery) => Promise<PassDeliveryResult>;

export interface SummarizationDelivery {
  readonly task: SummarizationTask;
  /** Time when the compaction pass requested the summary, in ms since epoch. */
  readonly requestedAt: number;
  readonly isLastAttempt: boolean;
}

export type SummarizationResult =
  | Postponed
  /**
   * How the job ended. A failure is returned as well, because a child job that fails could make its parent wait for
   * ever.
   */
  | { readonly status: 'ended'; readonly outcome: 'written' | 'known' | 'refused' | 'failed' | 'superseded' }
  /**
   * Another job is summarizing the same messages. The queue delivers this job again in a second without counting an
   * attempt.
   */
  | { readonly status: 'in_flight' }
  /**
   * The provider asked to wait until `retryAt` (ms since epoch). The queue then delivers the job again without counting
   * an attempt.
   */
  | { readonly status: 'limited'; readonly retryAt: number };

/** A job that another service added to the inbox queue. Every field is untrusted, and the data can be any JSON. */
export interface InboxJob {
  readonly id: string;
  readonly name: string;
  /** Time when the job was added, in ms since epoch, as its producer wrote it. */
  readonly addedAt: number;
  readonly data: unknown;
}

/**
 * Moves a job of the inbox to the mailbox of its conversation. Returns the accepted turn as JSON data, which the queue
 * stores with the job. Throws a coded error if the job cannot be accepted.
 */
export type InboxHandler = (job: InboxJob) => Promise<{ readonly isNew: boolean }>;

/** Runs one delivery of a summarization job. Throws errors that a retry may avoid, except on the last attempt. */
export type SummarizationHandler = (delivery: SummarizationDelivery) => Promise<SummarizationResult>;
