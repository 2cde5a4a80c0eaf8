import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';

/** `deadline`: jobs in hand were left behind; leases and locks lapse, and others go on */
export type CloseOutcome = 'closed' | 'deadline';

/** A close gives up on a Redis that is away so long: nothing can be handed back. Tries to come back are a second apart. */
const GIVE_UP_MS = 1_500;

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
   * Takes no more jobs, waits for those in hand until the deadline, or until Redis is lost, and cuts the connections:
   * BullMQ's own close may never end while Redis is away.
   */
  async close(deadlineMs: number): Promise<CloseOutcome> {
    const ended = new AbortController();
    const closed = Promise.allSettled(this.#workers.map((worker) => worker.close())).then(() => 'closed' as const);
    const deadline = sleep(deadlineMs, 'deadline' as const, { signal: ended.signal });
    deadline.catch(() => undefined); // aborted below
    const lost = untilLost(this.#connection, ended.signal).then(() => 'deadline' as const);
    const outcome = await Promise.race([closed, deadline, lost]);
    ended.abort();
    this.#connection.disconnectAll();
    return outcome;
  }
}

/** Resolves once the connection has been away for `GIVE_UP_MS` on end. Never, where that is not before the signal. */
async function untilLost(connection: QueueConnection, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const onReady = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const onAway = (): void => {
    timer ??= setTimeout(resolve, GIVE_UP_MS);
  };
  connection.on('close', onAway).on('ready', onReady);
  signal.addEventListener('abort', () => {
    connection.off('close', onAway).off('ready', onReady);
    clearTimeout(timer);
  });
  if (connection.status !== 'ready') onAway();
  await promise;
}
