import type { Waiting } from '../turn.ts';

/** An accepted turn that has not settled. */
export interface OpenTurn {
  readonly turn: string;
  readonly state: 'scheduled' | 'queued' | 'running' | 'waiting';
  /** Time when the turn was accepted, in ms since epoch. */
  readonly acceptedAt: number;
  /** Time when a scheduled turn is queued, in ms since epoch. */
  readonly dueAt?: number;
  /**
   * Text of the user message, if the caller asked for inputs and no worker has claimed the turn. Afterwards the log has
   * the message.
   */
  readonly input?: string;
  /** Kind and deadline of the wait, if the turn waits. Only the oldest unsettled turn can wait. */
  readonly waiting?: Waiting;
}

/** The unsettled turns of a conversation, all as of the same moment. */
export interface OpenTurns {
  /**
   * Queued turns in the order in which they run, then scheduled turns in the order of their due times. If the sweeper
   * postponed a scheduled turn, the later time counts.
   */
  readonly turns: readonly OpenTurn[];
  /** Number of unsettled turns, including the running or waiting one. `turns` may list fewer. */
  readonly mailbox: number;
  /** Number of scheduled turns that are not due yet. */
  readonly scheduled: number;
  /** Time of the list by the clock of Redis, in ms since epoch. Times of turns and events have the same clock. */
  readonly at: number;
}
