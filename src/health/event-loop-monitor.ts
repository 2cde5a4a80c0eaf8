const TICK_MS = 250;
const MEMORY_MS = 10_000;

/**
 * Records how late timers fire. A blocked event loop answers no probe, and would look healthy as soon as it answers
 * again. So the monitor remembers each delay for ten seconds.
 */
export class EventLoopMonitor {
  #lates: { readonly at: number; readonly lateMs: number }[] = [];
  #expectedAt = performance.now() + TICK_MS;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Longest block of the event loop in the last ten seconds, in ms. */
  get worstMs(): number {
    return Math.max(0, ...this.#lates.map(({ lateMs }) => lateMs));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const at = performance.now();
    this.#lates = this.#lates.filter((late) => late.at > at - MEMORY_MS);
    this.#lates.push({ at, lateMs: Math.max(0, at - this.#expectedAt) });
    this.#expectedAt = at + TICK_MS;
  }
}
