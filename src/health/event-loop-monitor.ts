const TICK_MS = 250;
const MEMORY_MS = 10_000;

/**
 * Measures how late timers fire. While the event loop is blocked, the process cannot answer a probe, and afterwards it
 * would look healthy. So the monitor remembers each delay for ten seconds.
 */
export class EventLoopMonitor {
  #lates: { readonly at: number; readonly lateMs: number }[] = [];
  #expectedAt = performance.now() + TICK_MS;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** The longest time in the last ten seconds during which the event loop was blocked, in ms. */
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
