/** A call that asks to pass a gate. */
export interface GateEntry {
  /** Name of the gate. */
  readonly gate: string;
  /** Turn or summary that makes the call. It keeps its place among those that wait. */
  readonly waiter: string;
  /** Input tokens of the call. */
  readonly tokens: number;
  /** ms that the caller can wait in its worker. If it has to wait longer, it leaves its worker, and comes back later. */
  readonly patienceMs: number;
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
  readonly concurrent?: number | undefined;
}

export type GatePassage =
  /** The gate holds no calls. The caller need not ask again until a provider refuses a call. */
  | { readonly status: 'open' }
  | { readonly status: 'passed' }
  /** The caller asks again after this time. */
  | { readonly status: 'held'; readonly waitMs: number };

/** A call that passed a gate and has ended, or a caller that gives up its place. */
export interface GateReport {
  readonly gate: string;
  readonly waiter: string;
  /**
   * - `limited`: the provider refused the call, because it limits calls or is overloaded.
   * - `refused`: the same, but the provider answers most other calls.
   * - `left`: the caller no longer waits, and made no call.
   */
  readonly outcome: 'answered' | 'limited' | 'refused' | 'failed' | 'left';
  /** ms since the call began. */
  readonly callMs: number;
  /** ms after which the provider allows the next call, from its refusal or its answer. Absent if it gave no time. */
  readonly retryAfterMs?: number | undefined;
}

/** A gate that holds calls, or did so within the last minute. */
export interface GateState {
  readonly gate: string;
  /** ms until the gate lets calls through. 0: it does. */
  readonly pausedMs: number;
  /** Calls a minute that the gate lets through, as far as its provider has shown it. */
  readonly perMinute: number | undefined;
  /** Turns and summaries that wait. */
  readonly waiting: number;
}

/** The gates of models in Redis, which all workers share. */
export interface GateStore {
  /** Asks to pass a gate. */
  enterGate(entry: GateEntry): Promise<GatePassage>;
  /**
   * Reports the end of a call or of a wait.
   * @returns for a limited or refused call: ms after which the caller asks again. Otherwise 0
   */
  leaveGate(report: GateReport): Promise<number>;
  /** Renews the places of calls in progress, which otherwise end a minute after the call began. */
  holdPlaces(gate: string, waiters: readonly string[]): Promise<void>;
  /** Names the gates that hold calls, or did so within the last minute. Costs one small command. */
  nameGates(): Promise<string[]>;
  /** Lists the gates that hold calls, or did so within the last minute. */
  listGates(): Promise<GateState[]>;
}
