/** A worker process that runs. */
export interface WorkerPresence {
  readonly worker: string;
  readonly roles: readonly string[];
  /** Time of its start in ms since epoch. */
  readonly startedAt: number;
}

/** A worker process that went silent without a stop. */
export interface LostWorker {
  readonly worker: string;
  readonly roles: readonly string[];
  /** Milliseconds from its start to its last renewal. */
  readonly livedMs: number;
}

/** Worker processes that use a database. */
export interface PresenceStore {
  /**
   * Writes or renews the presence of a worker. With `lostAfterMs`, it also removes and returns the workers that were
   * silent for longer. Each lost worker is returned to one caller only.
   */
  renewPresence(presence: WorkerPresence, lostAfterMs?: number): Promise<readonly LostWorker[]>;
  endPresence(presence: WorkerPresence): Promise<void>;
}
