import type { ConversationRef } from '../../domain/ids.ts';

/** A job and the source that it summarizes. */
export interface SummaryOwner {
  readonly conversation: ConversationRef;
  readonly hash: string;
  readonly owner: string;
}
