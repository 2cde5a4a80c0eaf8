import { isTurnfoldError } from '../../../domain/errors.ts';

/**
 * `cancel`: a client that aborts its request stops the run, as a stop button of CopilotKit and assistant-ui does.
 * `continue`: the turn goes on, and only the route for a stop ends it.
 */
export type OnAbort = 'cancel' | 'continue';

interface OpenRun {
  /** Tenant, thread and run. */
  readonly name: readonly string[];
  /** Signal of the request. */
  readonly aborted: AbortSignal;
  /** True if the run needs no stop, because it has ended, or the server ends it. */
  readonly isOver: () => boolean;
  readonly stop: () => Promise<unknown>;
  readonly onError: (error: unknown) => void;
}

/** Stops runs whose clients have left. A run that a second connection also shows goes on. */
export class OpenRuns {
  readonly #connections = new Map<string, number>();

  /** @returns a function to call at the end of the stream */
  enter({ name, aborted, isOver, stop, onError }: OpenRun): () => void {
    const key = JSON.stringify(name);
    this.#connections.set(key, (this.#connections.get(key) ?? 0) + 1);
    let isOpen = true;
    const leave = (): void => {
      if (!isOpen) return;
      isOpen = false;
      const others = (this.#connections.get(key) ?? 1) - 1;
      if (others > 0) this.#connections.set(key, others);
      else this.#connections.delete(key);
    };
    const stopAlone = (): void => {
      leave();
      if (this.#connections.has(key) || isOver()) return;
      stop().catch((error: unknown) => {
        // The client left before its run was accepted.
        if (!isTurnfoldError(error, 'not_found')) onError(error);
      });
    };
    if (aborted.aborted) stopAlone();
    else aborted.addEventListener('abort', stopAlone, { once: true });
    return leave;
  }
}
