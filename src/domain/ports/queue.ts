import type { ConversationRef } from '../ids.ts';
import type { TraceParent } from '../trace-parent.ts';

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
  readonly sequence: { readonly from: number; readonly to: number; readonly tokens: number };
  /** Key of the summary, by which jobs with the same source find one result. */
  readonly hash: string;
  /** Span of the pass. */
  readonly askedIn?: TraceParent | undefined;
}
