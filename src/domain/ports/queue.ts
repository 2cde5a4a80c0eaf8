import type { ConversationRef } from '../ids.ts';
import type { TraceParent } from '../trace-parent.ts';

export type WakeKind = 'turn' | 'pass';

export interface WakeOptions {
  readonly priority?: number;
  /** of a pass: the span of who asks for it. Lost with the wake, for the sweeper's knows none */
  readonly askedIn?: TraceParent | undefined;
}

/** Says "look at this conversation" and carries no truth: a lost wake costs latency, a doubled one nothing. */
export interface WakeQueue {
  /** @param wake the id that the store recorded; adding it twice adds one */
  wake(kind: WakeKind, conversation: ConversationRef, wake: string, options?: WakeOptions): Promise<void>;
  /** whether a wake is still waiting, prioritized or delayed (active and waiting-children do not count) */
  isPending(kind: WakeKind, conversation: ConversationRef, wake: string): Promise<boolean>;
}

/** What one summarization job gets: small, no content. */
export interface SummarizationTask {
  readonly conversation: ConversationRef;
  readonly passId: string;
  /** seqs of the sequence, and what it weighs in the context: a summary must be smaller */
  readonly sequence: { readonly from: number; readonly to: number; readonly tokens: number };
  /** key of the summary */
  readonly hash: string;
  /** the span of the pass */
  readonly askedIn?: TraceParent | undefined;
}
