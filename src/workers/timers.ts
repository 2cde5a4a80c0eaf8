/** Repeated and delayed calls, as a port. Tests implement it with a clock that they advance by hand. */
export interface Timers {
  /**
   * Calls `call` repeatedly until stopped: each time, `ms` after the last call ended. A failed call does not end the
   * repetition.
   */
  every(ms: number, call: () => Promise<void>): { stop(): void };
  /** Calls `call` once after `ms`, unless stopped before. */
  after(ms: number, call: () => void): { stop(): void };
}

/** Timers of Node.js, unreferenced: a pending timer does not keep the process alive. */
export const systemTimers: Timers = {
  every(ms, call) {
    let timer: NodeJS.Timeout | undefined;
    let isStopped = false;
    const schedule = (): void => {
      if (isStopped) return;
      timer = setTimeout(() => {
        // A failed heartbeat is followed by the next one, because a lease outlives several failed heartbeats.
        call().then(schedule, schedule);
      }, ms);
      timer.unref();
    };
    schedule();
    return {
      stop() {
        isStopped = true;
        clearTimeout(timer);
      },
    };
  },
  after(ms, call) {
    const timer = setTimeout(call, ms);
    timer.unref();
    return { stop: () => clearTimeout(timer) };
  },
};
