/** Timers as a port, so that tests advance a clock by hand. */
export interface Timers {
  /** Calls again `ms` after the last call has ended, even if that call failed. */
  every(ms: number, call: () => Promise<void>): { stop(): void };
  after(ms: number, call: () => void): { stop(): void };
}

/** Timers of Node, unreferenced: a pending timer does not keep the process alive. */
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
