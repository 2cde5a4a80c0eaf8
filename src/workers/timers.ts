/** Repeats and delays, as a port that tests advance by hand. */
export interface Timers {
  /** Calls `ms` after each call has ended, until stopped. A failed call is followed by the next. */
  every(ms: number, call: () => Promise<void>): { stop(): void };
  /** Calls once after `ms`, unless stopped. */
  after(ms: number, call: () => void): { stop(): void };
}

/** Node's timers. They do not keep the process alive. */
export const systemTimers: Timers = {
  every(ms, call) {
    let timer: NodeJS.Timeout | undefined;
    let isStopped = false;
    const schedule = (): void => {
      if (isStopped) return;
      timer = setTimeout(() => {
        // A lease outlives several failed heartbeats.
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
