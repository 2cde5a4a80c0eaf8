import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';

export type CloseOutcome = 'closed' | 'deadline';

/** Workers from the moment they take jobs to the moment they are cut off; it owns their connection. */
export class RunningWorkers {
  readonly #workers: readonly Worker[];
  readonly #connection: QueueConnection;
  readonly #runs: Promise<unknown>;

  constructor(workers: readonly Worker[], connection: QueueConnection, onError: QueueErrorListener) {
    this.#workers = workers;
    this.#connection = connection;
    this.#runs = Promise.all(
      workers.map((worker) => worker.run().catch((error: unknown) => onError(error, worker.name))),
    );
  }

  isRunning(): boolean {
    return this.#workers.length > 0 && this.#workers.every((worker) => worker.isRunning());
  }

  /** Resolves when every worker is connected, or has ended before it was. */
  async waitUntilReady(): Promise<void> {
    const ready = Promise.allSettled(this.#workers.map((worker) => worker.waitUntilReady()));
    await Promise.race([ready, this.#runs]);
  }

  /**
   * Takes no more jobs, waits for those in hand until the deadline, and cuts the connections: BullMQ's own close may
   * never end while Redis is away. `onDeadline` is called before the cut.
   */
  async close(deadlineMs: number, onDeadline: () => void): Promise<CloseOutcome> {
    const timer = new AbortController();
    const closed = Promise.allSettled(this.#workers.map((worker) => worker.close())).then(() => 'closed' as const);
    const deadline = sleep(deadlineMs, 'deadline' as const, { signal: timer.signal });
    deadline.catch(() => undefined); // aborted below
    const outcome = await Promise.race([closed, deadline]);
    timer.abort();
    if (outcome === 'deadline') onDeadline();
    this.#connection.disconnectAll();
    return outcome;
  }
}
