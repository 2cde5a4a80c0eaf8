import { TurnfoldError } from '../domain/errors.ts';

interface RetrySettings {
  /** Time for all attempts, counted from the start of an outage. */
  readonly deadlineMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

interface FailedAttempt {
  /** Pause that the server asked for. */
  readonly askedMs?: number | undefined;
  /** Start of the outage on the clock of `performance.now`. Default: now. */
  readonly downSince?: number;
  /** Ends the pause. */
  readonly signal?: AbortSignal;
}

/** Pauses between the attempts of one call, of the client over Redis and of the client over HTTP. */
export class Retries {
  readonly #settings: RetrySettings;
  #until: number | undefined;
  #pauseMs: number;

  constructor(settings: RetrySettings) {
    this.#settings = settings;
    this.#pauseMs = settings.firstPauseMs;
  }

  /** Called once the server answered. A later failure is a new outage, with a deadline of its own. */
  reset(): void {
    this.#until = undefined;
    this.#pauseMs = this.#settings.firstPauseMs;
  }

  /** @returns false if the deadline would pass before the next attempt, or the signal aborts */
  async wait({ askedMs = 0, downSince, signal }: FailedAttempt): Promise<boolean> {
    const { deadlineMs, longestPauseMs } = this.#settings;
    const failedAt = performance.now();
    this.#until ??= (downSince ?? failedAt) + deadlineMs;
    // Jitter spreads the retries, because all calls of a service see the outage at the same time.
    const waitMs = Math.max(askedMs, this.#pauseMs * (0.5 + Math.random() / 2));
    this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs);
    if (failedAt + waitMs >= this.#until) return false;
    await pause(waitMs, signal);
    return signal?.aborted !== true;
  }
}

export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  // The client over HTTP runs on Node 20, too, which has no `Promise.withResolvers`.
  await new Promise<void>((resolve) => {
    const wake = (): void => {
      signal?.removeEventListener('abort', wake);
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
  });
}

export interface RepeatableWrite {
  readonly field: 'turn' | 'operation' | 'conversation';
  readonly id: string;
  readonly others?: Readonly<Record<string, string>>;
}

export function adviseRepeat({ field }: Pick<RepeatableWrite, 'field'>): string {
  return `To retry safely, repeat the call with this ${field}`;
}

/** Adds the id of the write to an error after which the write may have succeeded. */
export function nameWrite(error: TurnfoldError, write: RepeatableWrite): TurnfoldError {
  const { field, id, others } = write;
  if (error.details?.[field] !== undefined) return error;
  const why = `the write of ${field} ${id} may have succeeded. ${adviseRepeat(write)}`;
  return new TurnfoldError(error.code, `${error.message}. ${why}`, {
    details: { ...error.details, ...others, [field]: id },
    cause: error.cause ?? error,
  });
}
