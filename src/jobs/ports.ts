import type { ConversationRef, TraceParent } from '../domain/ids.ts';
import type { PassPlan } from '../domain/pass-plan.ts';

export type WakeKind = 'turn' | 'pass';

export interface WakeOptions {
  readonly priority?: number;
  /** Absent for jobs that the sweeper adds. */
  readonly traceParent?: TraceParent | undefined;
}

/** Jobs that say "look at this conversation". A lost one costs only time, and a repeated one does nothing. */
export interface WakeQueue {
  /** Adds a job, or a due wake if enough jobs wait. The same `wake`, an id that the store recorded, is added once. */
  wake(kind: WakeKind, conversation: ConversationRef, wake: string, options?: WakeOptions): Promise<void>;
  /**
   * True if a wake waits, prioritized, delayed or due. Running jobs, and jobs that wait for children, do not count.
   * Removes a due wake that no worker would find. Signals an idle worker again, because the first one may have died.
   */
  isPending(kind: WakeKind, conversation: ConversationRef, wake: string): Promise<boolean>;
  /** Removes finished jobs of the inbox and their events. `all` also removes jobs and wakes that have not begun. */
  eraseJobs(conversations: readonly ConversationRef[], jobs: ErasedJobs): Promise<void>;
}

/** `ended`: jobs that have not begun stay, and may create the conversation again. */
export type ErasedJobs = 'all' | 'ended';

export interface SummarizationTask {
  readonly conversation: ConversationRef;
  readonly passId: string;
  /** With the maximum tokens of its summary. */
  readonly sequence: PassPlan['sequences'][number];
  /** The summary is stored under it. Jobs with the same source share it. */
  readonly hash: string;
  readonly traceParent?: TraceParent | undefined;
}

/** The work was not taken, or handed back. The queue delivers it after `delayMs` without counting an attempt. */
export interface Postponed {
  readonly status: 'postponed';
  readonly delayMs: number;
}

export type TurnDeliveryResult =
  | { readonly status: 'done' }
  /** Another worker owns the turn, or it was canceled or erased. This worker wrote nothing more. */
  | { readonly status: 'lost' }
  | Postponed;

/** Throws the error if Redis is down, and a `BrokenDelivery` for unexpected errors. */
export type TurnHandler = (conversation: ConversationRef) => Promise<TurnDeliveryResult>;

export interface PassDelivery {
  readonly conversation: ConversationRef;
  readonly job: string;
  /** All its summarization jobs have ended, so the worker finishes the pass with their results. */
  readonly haveChildrenEnded: boolean;
  readonly traceParent?: TraceParent | undefined;
}

export type PassDeliveryResult =
  | { readonly status: 'done' }
  | Postponed
  /** The queue runs these as child jobs, and delivers this job again when all have ended. */
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
  /** A failure is returned as well: a child job that fails could make its parent wait for ever. */
  | { readonly status: 'ended'; readonly outcome: 'written' | 'known' | 'refused' | 'failed' | 'superseded' }
  /** Another job summarizes the same messages. Delivered again in a second, without counting an attempt. */
  | { readonly status: 'in_flight' }
  /** The provider asked to wait. Delivered again at `retryAt` (ms since epoch), without counting an attempt. */
  | { readonly status: 'limited'; readonly retryAt: number };

/** Added by another service. Every field is untrusted, and the data can be any JSON. */
export interface InboxJob {
  readonly id: string;
  readonly name: string;
  /** In ms since epoch, as its producer wrote it. */
  readonly addedAt: number;
  readonly data: unknown;
}

/** Moves a job to a mailbox. The queue stores the returned turn with it. @throws a coded error if it is not accepted */
export type InboxHandler = (job: InboxJob) => Promise<{ readonly isNew: boolean }>;

/** Throws errors that a retry may avoid, except on the last attempt. */
export type SummarizationHandler = (delivery: SummarizationDelivery) => Promise<SummarizationResult>;
