import type { SummaryCallLimits } from '../../compaction/summary-time.ts';

/** Ends a model call that takes too long or whose stream is silent. */
export class CallDeadline {
  readonly #ended = new AbortController();
  readonly #total: NodeJS.Timeout;
  readonly #silence: NodeJS.Timeout;
  /** Limit in ms that ended the call. Undefined if none did. */
  #passedMs: number | undefined;

  constructor({ totalMs, silenceMs }: SummaryCallLimits) {
    this.#total = this.#abortAfter(totalMs);
    this.#silence = this.#abortAfter(silenceMs);
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get passedMs(): number | undefined {
    return this.#passedMs;
  }

  /** Notes that the model sent something. */
  readonly noteEvent = (): void => {
    if (!this.#ended.signal.aborted) this.#silence.refresh();
  };

  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#silence);
  }

  #abortAfter(ms: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#passedMs ??= ms;
      this.#ended.abort(new Error('the model call took too long'));
    }, ms);
    timer.unref();
    return timer;
  }
}
