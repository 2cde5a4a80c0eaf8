/**
 * A worker that has not renewed its key for this long counts as lost: it crashed, hangs or has no connection to Redis.
 */
export const LOST_AFTER_MS = 20_000;

/** A running worker process. */
export interface WorkerPresence {
  readonly worker: string;
  readonly roles: readonly string[];
  /** Names of the agents of the process. Absent for an older release, which did not record them. */
  readonly agents?: readonly string[];
  /** Time when the process started, in ms since epoch. */
  readonly startedAt: number;
}

/** A worker process that stopped renewing its key without a shutdown. */
export interface SilentWorker extends WorkerPresence {
  /**
   * - `gone`: Redis shows that the connection of the process has ended. The process has ended, or reconnects late.
   * - `lost`: the worker has not renewed its key for `LOST_AFTER_MS`. The worker may be frozen, so each of its leases ends
   *   at its own time.
   */
  readonly state: 'gone' | 'lost';
}

/** Roles whose work needs the definition of an agent. */
export type ServingRole = 'turn' | 'compaction' | 'summarization';

/** Answer to the question if a running worker of a role has an agent. */
export type AgentPresence =
  | { readonly status: 'served' }
  /** No running worker has had the agent for `forMs`. */
  | { readonly status: 'missing'; readonly forMs: number };

/** Records which worker processes use a database. */
export interface PresenceStore {
  /** Renews a worker's key. Returns true if the worker has a new connection since its last renewal. */
  renewPresence(presence: WorkerPresence): Promise<boolean>;
  /** Finds the workers that stopped renewing their key. */
  findSilent(): Promise<readonly SilentWorker[]>;
  /**
   * Removes a silent worker, unless it has renewed its key meanwhile.
   * @returns true for exactly one caller
   */
  removeSilent(worker: string): Promise<boolean>;
  /** Removes a worker that stops. */
  endPresence(worker: string): Promise<void>;
}

/** Finds out which agents the running workers have. */
export interface AgentFinder {
  /**
   * Looks for a running worker that has both the agent and the role. The first look that finds none begins the time for which
   * the agent is missing.
   */
  findAgent(agent: string, role: ServingRole): Promise<AgentPresence>;
}
