import type { ConversationRef } from '../../src/domain/ids.ts';
import { summarizeJob, writeWake } from '../../src/jobs/job.ts';
import type { WakeKind } from '../../src/jobs/ports.ts';
import { QUEUE_TIMES, QUEUES, type QueueName } from '../../src/jobs/queues.ts';

type JobState = 'waiting' | 'active' | 'delayed' | 'waiting-children';

export interface StoredJob {
  readonly id: string;
  readonly queue: QueueName;
  readonly data: unknown;
  readonly timestamp: number;
  readonly parent: string | undefined;
  state: JobState;
  deliveries: number;
  attemptsMade: number;
  dueAt: number;
  lockedUntil: number;
  /** Ids of children that have not ended. */
  readonly pending: Set<string>;
  /** Number of children that have ended. */
  ended: number;
}

/** A copy of a job, given to the worker that took the job. */
export interface TakenJob {
  readonly id: string;
  readonly queue: QueueName;
  readonly data: unknown;
  readonly timestamp: number;
  readonly attemptsMade: number;
  readonly parent: string | undefined;
  /** Token of the worker's lock. */
  readonly token: string;
}

interface NewJob {
  readonly data: unknown;
  readonly opts: { readonly jobId: string; readonly parent?: { readonly id: string } };
}

const QUEUE_OF: Readonly<Record<WakeKind, QueueName>> = { turn: QUEUES.turn, pass: QUEUES.compaction };

/** BullMQ notices a lapsed lock at its next check for stalled jobs. */
const STALLED_MS = QUEUE_TIMES.lockMs + QUEUE_TIMES.stalledCheckMs;

/**
 * Queues in memory with the features of BullMQ that turnfold uses: unique job ids, lapsing locks, delays and attempts. A parent
 * waits for its children. Every operation is atomic.
 */
export class MemoryJobs {
  readonly #jobs = new Map<string, StoredJob>();
  readonly #clock: { now(): number };

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  /** Copies the jobs of another world. */
  adopt(others: MemoryJobs): void {
    for (const job of others.all) this.#jobs.set(job.id, { ...job, pending: new Set(job.pending) });
  }

  get all(): readonly StoredJob[] {
    return [...this.#jobs.values()];
  }

  add(kind: WakeKind, conversation: ConversationRef, wake: string): void {
    this.#put(QUEUE_OF[kind], wake, writeWake({ conversation }));
  }

  isPending(wake: string): boolean {
    const state = this.#jobs.get(wake)?.state;
    return state === 'waiting' || state === 'delayed';
  }

  /** @returns an id for each child. A negative number is BullMQ's code for a refused child, whose parent is gone */
  addChildren(children: readonly NewJob[]): { readonly id: string | number }[] {
    return children.map(({ data, opts }) => {
      const parent = this.#jobs.get(opts.parent?.id ?? '');
      if (parent === undefined) return { id: -5 };
      const known = this.#jobs.get(opts.jobId);
      if (known === undefined) this.#put(QUEUES.summarization, opts.jobId, data, parent.id);
      else if (known.parent !== parent.id) return { id: -7 };
      parent.pending.add(opts.jobId);
      return { id: opts.jobId };
    });
  }

  countChildren(id: string): { readonly unprocessed: number; readonly processed: number } {
    const job = this.#jobs.get(id);
    return { unprocessed: job?.pending.size ?? 0, processed: job?.ended ?? 0 };
  }

  /** Oldest first. */
  takeable(): StoredJob[] {
    const now = this.#clock.now();
    return this.all.filter(({ state, dueAt }) => state === 'waiting' || (state === 'delayed' && dueAt <= now));
  }

  /** @param job one of `takeable` */
  take(job: StoredJob): TakenJob {
    job.state = 'active';
    job.deliveries += 1;
    job.lockedUntil = this.#clock.now() + STALLED_MS;
    const { id, queue, data, timestamp, attemptsMade, parent } = job;
    return { id, queue, data, timestamp, attemptsMade, parent, token: tokenOf(job) };
  }

  /** Renews a lock, as every live worker does. A worker that lost the job changes nothing. */
  extendLock(taken: TakenJob): void {
    const job = this.#jobs.get(taken.id);
    if (job !== undefined && tokenOf(job) === taken.token) job.lockedUntil = this.#clock.now() + STALLED_MS;
  }

  /** Returns the jobs of dead workers to the queue. */
  releaseStalled(): void {
    const now = this.#clock.now();
    for (const job of this.all) if (job.state === 'active' && job.lockedUntil <= now) job.state = 'waiting';
  }

  /** Time at which the next delay or lock ends. */
  get nextDueAt(): number | undefined {
    const times = this.all.flatMap(({ state, dueAt, lockedUntil }) =>
      state === 'delayed' ? [dueAt] : state === 'active' ? [lockedUntil] : [],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  moveToWaitingChildren(taken: TakenJob): boolean {
    const job = this.#owned(taken);
    if (job.pending.size === 0) return false;
    job.state = 'waiting-children';
    return true;
  }

  moveToDelayed(taken: TakenJob, delayMs: number): void {
    const job = this.#owned(taken);
    job.state = 'delayed';
    job.dueAt = this.#clock.now() + delayMs;
  }

  /** Removes the job, as all queues of turnfold do at the end of a job. */
  end(taken: TakenJob): void {
    const job = this.#owned(taken);
    this.#jobs.delete(job.id);
    const parent = this.#jobs.get(job.parent ?? '');
    if (parent === undefined || !parent.pending.delete(job.id)) return;
    parent.ended += 1;
    if (parent.pending.size === 0 && parent.state === 'waiting-children') parent.state = 'waiting';
  }

  /** Ends a delivery that threw. The job is delayed for another attempt, if one remains. */
  failAttempt(taken: TakenJob): void {
    const job = this.#owned(taken);
    job.attemptsMade += 1;
    const attempts = job.queue === QUEUES.summarization ? summarizeJob.attempts : 1;
    if (job.attemptsMade < attempts) this.moveToDelayed(taken, summarizeJob.backoffMs);
    else this.end(taken);
  }

  #owned({ id, token }: TakenJob): StoredJob {
    const job = this.#jobs.get(id);
    if (job?.state !== 'active' || tokenOf(job) !== token) throw new Error(`missing lock for job ${id}`);
    return job;
  }

  #put(queue: QueueName, id: string, data: unknown, parent?: string): void {
    if (this.#jobs.has(id)) return;
    const counts = { deliveries: 0, attemptsMade: 0, dueAt: 0, lockedUntil: 0, ended: 0 };
    const times = { timestamp: this.#clock.now(), parent };
    this.#jobs.set(id, { id, queue, data, state: 'waiting', pending: new Set(), ...times, ...counts });
  }
}

export function tokenOf({ id, deliveries }: StoredJob): string {
  return `${id}/${deliveries}`;
}
