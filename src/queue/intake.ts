import type { QueueName } from '../jobs/queues.ts';
import type { Delivery } from './delivery.ts';

/** Which jobs are counted: of one shard of one queue, in this process. */
export interface IntakeOptions {
  readonly queue: QueueName;
  readonly shard: number;
  /** jobs at a time */
  readonly concurrency: number;
}

/** Counts what a worker takes: one that could take more and takes nothing, while something waits, is stuck. */
export class Intake {
  readonly queue: QueueName;
  readonly shard: number;
  readonly #concurrency: number;
  #inHand = 0;
  #lastAt = performance.now();

  constructor({ queue, shard, concurrency }: IntakeOptions) {
    this.queue = queue;
    this.shard = shard;
    this.#concurrency = concurrency;
  }

  get couldTakeMore(): boolean {
    return this.#inHand < this.#concurrency;
  }

  /** since it last took or finished something, or since its start */
  get idleMs(): number {
    return performance.now() - this.#lastAt;
  }

  count(deliver: Delivery): Delivery {
    return async (job, token) => {
      this.#inHand += 1;
      this.#lastAt = performance.now();
      try {
        return await deliver(job, token);
      } finally {
        this.#inHand -= 1;
        this.#lastAt = performance.now();
      }
    };
  }
}
