const INTERVAL_MS = 10_000;

/** Prints how far a long run is, on the stream of errors, so that results can be redirected. */
export class Progress {
  readonly #startMs = performance.now();
  #label = '';
  #stepMs = performance.now();
  #printedMs = performance.now();

  /** Ends the step before and begins the next. */
  begin(label: string): void {
    this.#end();
    this.#label = label;
    this.#stepMs = performance.now();
    this.#printedMs = this.#stepMs;
  }

  /** Prints at most every ten seconds. */
  report(done: number, total: number): void {
    const now = performance.now();
    if (now - this.#printedMs < INTERVAL_MS) return;
    this.#printedMs = now;
    console.error(`${this.#label}: ${done} of ${total}, ${seconds(now - this.#stepMs)}`);
  }

  end(): void {
    this.#end();
    console.error(`total: ${seconds(performance.now() - this.#startMs)}`);
  }

  #end(): void {
    if (this.#label !== '') console.error(`${this.#label}: done in ${seconds(performance.now() - this.#stepMs)}`);
    this.#label = '';
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
