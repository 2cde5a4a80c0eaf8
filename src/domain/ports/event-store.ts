import type { ConversationEvent } from '../conversation-event.ts';
import type { ConversationRef } from '../ids.ts';

/** Position before a conversation's first event. */
export const FIRST_POSITION = '0-0';

export interface EventQuery {
  readonly conversation: ConversationRef;
  /**
   * Id of the last event that the reader received, or FIRST_POSITION. If absent, the answer holds only the current
   * position and no events.
   */
  readonly after?: string | undefined;
  /** Maximum number of events on the returned page. */
  readonly limit: number;
}

export interface EventPage {
  /** Events after `after`, oldest first. If the event `after` was already deleted, all stored events. */
  readonly events: readonly ConversationEvent[];
  /**
   * Completeness of the events after `after`.
   * - `kept`: no event is missing.
   * - `missing`: events may be missing, or the conversation was erased and created again.
   * - `expired`: all events have expired. A reader that was up to date within the retention time has missed none.
   */
  readonly start: 'kept' | 'missing' | 'expired';
  /** Position to pass as `after` in the next query. */
  readonly position: string;
  /** True if the conversation or any of its events exists. */
  readonly exists: boolean;
}

/** Reads events for client calls. */
export interface EventStore {
  /** Reads a page of events in one snapshot. */
  readEvents(query: EventQuery): Promise<EventPage>;
}
