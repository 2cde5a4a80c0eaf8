import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { PassDeliveryResult, WakeKind, WakeQueue } from '../../../src/jobs/ports.ts';

type Children = Extract<PassDeliveryResult, { status: 'parked' }>['children'];
export type Child = Children[number];

export type Job =
  | { readonly kind: 'turn'; readonly id: string; readonly conversation: ConversationRef }
  | {
      readonly kind: 'pass';
      readonly id: string;
      readonly conversation: ConversationRef;
      readonly haveChildrenEnded: boolean;
    }
  | { readonly kind: 'summary'; readonly child: Child; readonly parent: Family };

/** A job that waits for its child jobs, and the number of child jobs that have not ended. */
interface Family {
  readonly job: Extract<Job, { kind: 'pass' }>;
  pending: number;
}

/** A queue in memory for wakes and child jobs, first in, first out. A job that was taken and not answered is lost. */
export class MemoryQueue implements WakeQueue {
  readonly #jobs: Job[] = [];

  wake(kind: WakeKind, conversation: ConversationRef, wake: string): Promise<void> {
    if (!this.#holds(wake)) {
      const job = { id: wake, conversation };
      this.#jobs.push(kind === 'turn' ? { kind, ...job } : { kind, ...job, haveChildrenEnded: false });
    }
    return Promise.resolve();
  }

  isPending(_kind: WakeKind, _conversation: ConversationRef, wake: string): Promise<boolean> {
    return Promise.resolve(this.#holds(wake));
  }

  eraseJobs(): Promise<void> {
    return Promise.resolve();
  }

  /** Waiting wakes, in the order in which they were added. */
  get wakes(): { readonly kind: WakeKind; readonly wake: string }[] {
    return this.#jobs.flatMap((job) => (job.kind === 'summary' ? [] : [{ kind: job.kind, wake: job.id }]));
  }

  take(): Job | undefined {
    return this.#jobs.shift();
  }

  /** Puts a job back at the end of the queue, as a delay does. */
  putBack(job: Job): void {
    this.#jobs.push(job);
  }

  /** Loses every job, as if an operator had emptied the queue. */
  clear(): void {
    this.#jobs.length = 0;
  }

  park(job: Extract<Job, { kind: 'pass' }>, children: Children): void {
    const parent = { job, pending: children.length };
    this.#jobs.push(...children.map((child): Job => ({ kind: 'summary', child, parent })));
  }

  /** Ends a child job. After its last child job, the parent job is delivered again. */
  endChild({ parent }: Extract<Job, { kind: 'summary' }>): void {
    parent.pending -= 1;
    if (parent.pending === 0) this.#jobs.push({ ...parent.job, haveChildrenEnded: true });
  }

  #holds(wake: string): boolean {
    return this.#jobs.some((job) => job.kind !== 'summary' && job.id === wake);
  }
}
