/** Repeats and delays, as a port: tests step them by hand instead of sleeping. */
export interface Timers {
  /** calls again `ms` after each call has ended, until stopped; a failed call is followed by the next */
  every(ms: number, call: () => Promise<void>): { stop(): void };
  /** calls once after `ms`, unless stopped */
  after(ms: number, call: () => void): { stop(): void };
}

/** The process's own timers. They do not keep it alive. */
export const systemTimers: Timers = {
  every(ms, call) {
    let timer: NodeJS.Timeout | undefined;
    let isStopped = false;
    const schedule = (): void => {
      if (isStopped) return;
      timer = setTimeout(() => {
        // A heartbeat that fails is followed by the next: the lease outlives several.
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
