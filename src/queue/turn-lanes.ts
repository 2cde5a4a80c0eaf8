import type { Job, Queue, Worker } from 'bullmq';
import type { TurnHandler } from '../domain/ports/queue.ts';
import type { DueWake, DueWakes } from './due-wakes.ts';
import type { Intake } from './queue-worker.ts';
import { TickBatch } from './tick-batch.ts';
import { describeWakeJob } from './wake-jobs.ts';

/** ms between two looks for wakes while a worker has room. */
const LOOK_MS = 250;

/** A job that has waited for longer, in ms, was in a crowded queue. */
const CROWDED_MS = 10;

/** Maximum number of wakes that are taken at once. */
const MOST_WAKES = 500;

export interface TurnLanesOptions {
  readonly dueWakes: DueWakes;
  readonly queue: Queue;
  readonly intake: Intake;
  readonly report: (error: unknown) => void;
}

/**
 * Gives due wakes to one worker of one queue shard. A delivery that has ended its conversation takes the next wake, and keeps its
 * job. If the worker still has room, it adds jobs for due wakes instead, because any worker may run a job.
 */
export class TurnLanes {
  readonly #options: TurnLanesOptions;
  /** Takes one wake for each delivery that has ended its conversation. */
  readonly #next = new TickBatch((ended: readonly undefined[]) =>
    this.#take(Math.min(ended.length, MOST_WAKES), { getJobs: false }),
  );
  #worker: Worker | undefined;
  /** True if wakes may be due. A worker of an idle queue does not look after each job. */
  #mayBeDue = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TurnLanesOptions) {
    this.#options = options;
  }

  /**
   * Looks for wakes when the worker has found no more jobs. Only a crowded queue gets due wakes, so each of them is older than
   * such a moment.
   */
  serve(worker: Worker): void {
    this.#worker = worker;
    worker.on('drained', () => this.#lookSoon());
    worker.on('closing', () => clearTimeout(this.#timer));
  }

  /** Handles due wakes until the worker closes, or none is due, or a job must come first. */
  async work(job: Pick<Job, 'timestamp' | 'processedOn'>, handler: TurnHandler): Promise<void> {
    this.#mayBeDue ||= (job.processedOn ?? job.timestamp) - job.timestamp > CROWDED_MS;
    for (;;) {
      const due = this.#mayBeDue ? await this.#next.add(undefined) : undefined;
      if (due === undefined) return;
      const result = await handler(due.conversation);
      if (result.status === 'postponed') return await this.#addJobs([due], result.delayMs);
    }
  }

  #lookSoon(): void {
    const waitMs = Math.max(0, this.#lookedAt + LOOK_MS - performance.now());
    this.#timer ??= setTimeout(() => void this.#look(), waitMs).unref();
  }

  /** Adds a job for each due wake for which the worker has room, and looks again later if more are due. */
  async #look(): Promise<void> {
    this.#timer = undefined;
    this.#lookedAt = performance.now();
    const room = Math.min(this.#options.intake.room, MOST_WAKES);
    const due = room === 0 ? [] : await this.#take(room, { getJobs: true });
    if (due.length > 0) await this.#addJobs(due).catch(this.#options.report);
    if (this.#mayBeDue && room > 0) this.#lookSoon();
  }

  /** Takes no wake while the worker closes. An error takes none, too: a lost wake is found by the sweeper. */
  async #take(most: number, options: { readonly getJobs: boolean }): Promise<readonly DueWake[]> {
    const { dueWakes, queue, report } = this.#options;
    if (this.#worker?.closing !== undefined) return [];
    try {
      const { wakes, left } = await dueWakes.take(queue, most, options);
      this.#mayBeDue = left > 0;
      return wakes;
    } catch (error) {
      report(error);
      return [];
    }
  }

  async #addJobs(due: readonly DueWake[], delayMs = 0): Promise<void> {
    await this.#options.queue.addBulk(due.map((wake) => describeWakeJob({ kind: 'turn', ...wake, delayMs })));
  }
}
