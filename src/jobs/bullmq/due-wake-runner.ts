import type { Job, Queue, Worker } from 'bullmq';
import type { TurnHandler } from '../ports.ts';
import type { DueWakeHandler } from './delivery.ts';
import { type DueWake, type DueWakes, TickBatch } from './due-wakes.ts';
import { describeWakeJob } from './queue-set.ts';
import type { Intake } from './queue-worker.ts';

const LOOK_MS = 250;

/** A job that has waited for more than this many ms shows that its queue is crowded, so due wakes are likely. */
const CROWDED_MS = 10;
/** ms for which a job continues with other conversations. BullMQ moves delayed jobs only when a job ends. */
const CONTINUE_MS = 30_000;

const MOST_WAKES = 500;

interface DueWakeRunnerOptions {
  readonly dueWakes: DueWakes;
  readonly queue: Queue;
  readonly intake: Intake;
  readonly report: (error: unknown) => void;
}

/**
 * Runs due wakes (wakes without a job). A job that has handled its conversation takes the next due wake. A worker with
 * free capacity adds jobs for due wakes.
 */
export class DueWakeRunner implements DueWakeHandler {
  readonly #options: DueWakeRunnerOptions;
  /** Takes one due wake for each job that has handled its conversation. */
  readonly #next = new TickBatch((ended: readonly undefined[]) =>
    this.#take(Math.min(ended.length, MOST_WAKES), { getJobs: false }),
  );
  #worker: Worker | undefined;
  /** False: probably no wake is due, so a worker with free capacity does not search for wakes after each job. */
  #mayBeDue = false;
  #tookAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();

  constructor(options: DueWakeRunnerOptions) {
    this.#options = options;
  }

  /** Looks for due wakes each time the worker finds no job. */
  watch(worker: Worker): void {
    this.#worker = worker;
    worker.on('drained', () => this.#lookSoon());
    worker.on('closing', () => clearTimeout(this.#timer));
  }

  /**
   * Handles due wakes within a job for `CONTINUE_MS`. Ends earlier if no wake is due, the worker closes, or a wake fails or
   * is postponed. An error of such a wake does not fail the job, because the error belongs to another conversation. The
   * sweeper wakes that conversation again.
   */
  async handleDueWakes(job: Pick<Job, 'timestamp' | 'processedOn'>, handler: TurnHandler): Promise<void> {
    const startedAt = performance.now();
    const waitedMs = (job.processedOn ?? job.timestamp) - job.timestamp;
    this.#mayBeDue ||=
      waitedMs > CROWDED_MS || startedAt - this.#tookAt > LOOK_MS || !this.#options.intake.couldTakeMore;
    while (performance.now() - startedAt < CONTINUE_MS) {
      const due = this.#mayBeDue ? await this.#next.add(undefined) : undefined;
      if (due === undefined) return;
      const result = await handler(due.conversation).catch(this.#options.report);
      if (result === undefined) return;
      if (result.status === 'postponed') return await this.#addJobs([due], result.delayMs).catch(this.#options.report);
    }
  }

  /** Waits until the last search for due wakes has ended. The worker must be closing. */
  async close(): Promise<void> {
    await this.#look;
  }

  #lookSoon(): void {
    const waitMs = Math.max(0, this.#lookedAt + LOOK_MS - performance.now());
    this.#timer ??= setTimeout(() => {
      this.#look = this.#lookNow();
    }, waitMs).unref();
  }

  /** Adds jobs for as many due wakes as the worker can run. Searches again later if more wakes are due. */
  async #lookNow(): Promise<void> {
    this.#timer = undefined;
    if (this.#isClosing) return;
    this.#lookedAt = performance.now();
    const room = Math.min(this.#options.intake.room, MOST_WAKES);
    const due = room === 0 || (await this.#knowsNone()) ? [] : await this.#take(room, { getJobs: true });
    if (due.length > 0) await this.#addJobs(due).catch(this.#options.report);
    if (this.#mayBeDue && room > 0) this.#lookSoon();
  }

  /** True if no wake is due. One plain command finds this out. The script that takes due wakes would run several. */
  async #knowsNone(): Promise<boolean> {
    if (this.#mayBeDue) return false;
    const { dueWakes, queue } = this.#options;
    return (await dueWakes.count(queue).catch(() => undefined)) === 0;
  }

  /** Takes due wakes. Takes none while the worker closes, and after an error. The sweeper replaces a lost wake. */
  async #take(most: number, options: { readonly getJobs: boolean }): Promise<readonly DueWake[]> {
    const { dueWakes, queue, report } = this.#options;
    if (this.#isClosing) return [];
    this.#tookAt = performance.now();
    try {
      const { wakes, left } = await dueWakes.take(queue, most, options);
      this.#mayBeDue = left > 0;
      return wakes;
    } catch (error) {
      report(error);
      this.#mayBeDue = true;
      return [];
    }
  }

  get #isClosing(): boolean {
    return this.#worker?.closing !== undefined;
  }

  async #addJobs(due: readonly DueWake[], delayMs = 0): Promise<void> {
    await this.#options.queue.addBulk(due.map((wake) => describeWakeJob({ kind: 'turn', ...wake, delayMs })));
  }
}
