/**
 * A worker that has not renewed its entry for this long counts as lost: it crashed, hangs or has no connection to
 * Redis.
 */
export const LOST_AFTER_MS = 20_000;

/** A running worker process, as its heartbeat describes it. */
export interface WorkerPresence {
  readonly worker: string;
  readonly roles: readonly string[];
  /** Time when the process started, in ms since epoch. */
  readonly startedAt: number;
}

/** A worker process that stopped sending heartbeats without a shutdown. */
export interface LostWorker {
  readonly worker: string;
  readonly roles: readonly string[];
  /** Milliseconds from the start of the process to its last heartbeat. */
  readonly livedMs: number;
}

/** Records which worker processes use a database. */
export interface PresenceStore {
  /**
   * Writes a worker's heartbeat. With `lostAfterMs`, also removes and returns workers without a heartbeat for that
   * long. Each lost worker is returned to exactly one caller.
   */
  renewPresence(presence: WorkerPresence, lostAfterMs?: number): Promise<readonly LostWorker[]>;
  endPresence(presence: WorkerPresence): Promise<void>;
}
