/** A worker process, from its start to its stop. */
export interface WorkerPresence {
  /** unique per process */
  readonly worker: string;
  readonly roles: readonly string[];
  /** ms since epoch */
  readonly startedAt: number;
}

/** A worker that went silent without having stopped. */
export interface LostWorker {
  readonly worker: string;
  readonly roles: readonly string[];
  /** from its start to its last renewal, in ms */
  readonly livedMs: number;
}

/** Which workers run, over all processes of a database. */
export interface PresenceStore {
  /**
   * Writes or renews a worker's presence. Also removes the workers that have been silent for longer than `lostAfterMs`
   * and returns them, each to one caller only. Without `lostAfterMs` it looks at no other worker.
   */
  renewPresence(presence: WorkerPresence, lostAfterMs?: number): Promise<readonly LostWorker[]>;
  /** Removes the presence of a worker that stops. */
  endPresence(presence: WorkerPresence): Promise<void>;
}
