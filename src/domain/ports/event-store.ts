import type { ConversationEvent } from '../conversation-event.ts';
import type { ConversationRef } from '../ids.ts';

/** Before all events. */
export const FIRST_POSITION = '0-0';

export interface EventQuery {
  readonly conversation: ConversationRef;
  /** id of the last event that was read, or FIRST_POSITION; absent: none that is there, only where the next one follows */
  readonly after?: string | undefined;
  /** events at most */
  readonly limit: number;
}

export interface EventPage {
  /** oldest first: those after `after`, or all that are kept where it is not kept itself */
  readonly events: readonly ConversationEvent[];
  /**
   * What is known of those that came right after `after`. `kept`: none is missing. `missing`: some may be, or the conversation was
   * made anew. `expired`: nothing is kept, for nothing has happened for as long as events are kept; whoever has looked
   * within that time, and had read all, misses none.
   */
  readonly start: 'kept' | 'missing' | 'expired';
  /** what to ask for as `after` next */
  readonly position: string;
  /** there is such a conversation, or an event of one */
  readonly isThere: boolean;
}

/** What services need of events. */
export interface EventStore {
  /** at one moment */
  readEvents(query: EventQuery): Promise<EventPage>;
}
