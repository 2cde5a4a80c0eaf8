import type { ConversationEvent } from '../conversation-event.ts';
import type { ConversationRef } from '../ids.ts';

/** Position before all events. */
export const FIRST_POSITION = '0-0';

export interface EventQuery {
  readonly conversation: ConversationRef;
  /**
   * Id of the last event that was read, or FIRST_POSITION. Absent: the answer has no events, only the next position.
   */
  readonly after?: string | undefined;
  /** Events that are returned at most. */
  readonly limit: number;
}

export interface EventPage {
  /** Events after `after`, oldest first. All kept events if `after` itself is not kept. */
  readonly events: readonly ConversationEvent[];
  /**
   * Completeness of the events after `after`.
   * - `kept`: no event is missing.
   * - `missing`: events may be missing, or the conversation was created again.
   * - `expired`: no event is kept, because nothing happened during the retention of events. A reader that was up to
   * date within that time has missed none.
   */
  readonly start: 'kept' | 'missing' | 'expired';
  /** Value of `after` for the next query. */
  readonly position: string;
  /** True if the conversation or an event of it exists. */
  readonly exists: boolean;
}

/** Events, for services. */
export interface EventStore {
  /** Reads a page of events, as a snapshot. */
  readEvents(query: EventQuery): Promise<EventPage>;
}
