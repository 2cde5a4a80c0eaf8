import { setTimeout as sleep } from 'node:timers/promises';
import type { ConversationRef } from '../domain/ids.ts';
import type { Handlers } from '../host/handlers.ts';
import { summarizeJob } from '../jobs/job.ts';
import type { PassDeliveryResult, Postponed, WakeKind, WakeQueue } from '../jobs/ports.ts';

type Child = Extract<PassDeliveryResult, { status: 'parked' }>['children'][number];
type JobHandlers = Pick<Handlers, 'turn' | 'compaction' | 'summarization'>;

/** Delay of a job while another job works on the same conversation or summary. */
const IN_FLIGHT_MS = 1_000;

/** A job queue in memory, which runs each job as soon as it is added. */
export class InProcessQueue implements WakeQueue {
  readonly #jobs = new Map<string, Promise<void>>();
  readonly #listeners = new Set<() => void>();
  readonly #closed = new AbortController();
  #handlers: JobHandlers | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** Separate from the constructor, because the handlers need this queue themselves. */
  connect(handlers: JobHandlers): void {
    this.#handlers = handlers;
  }

  wake(kind: WakeKind, conversation: ConversationRef, wake: string): Promise<void> {
    if (!this.#jobs.has(wake) && !this.#closed.signal.aborted) {
      const run = kind === 'turn' ? this.#runTurn(conversation) : this.#runPass(conversation, wake);
      this.#jobs.set(wake, this.#settle(wake, run));
    }
    this.#notify();
    return Promise.resolve();
  }

  /** A job runs as soon as it is added, so no job waits. */
  isPending(): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Does nothing, because a job leaves nothing behind in this queue. */
  eraseJobs(): Promise<void> {
    return Promise.resolve();
  }

  /** Resolves when a job is added or ends, after `ms`, or when the signal aborts. */
  async nextChange(ms: number, signal?: AbortSignal): Promise<void> {
    const changed = Promise.withResolvers<void>();
    const over = new AbortController();
    const listener = (): void => changed.resolve();
    this.#listeners.add(listener);
    signal?.addEventListener('abort', listener, { once: true });
    try {
      if (signal?.aborted !== true) {
        await Promise.race([changed.promise, sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)]);
      }
    } finally {
      over.abort();
      this.#listeners.delete(listener);
      signal?.removeEventListener('abort', listener);
    }
  }

  /** @throws the first unexpected error of a job */
  async idle(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all(this.#jobs.values());
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  /** Starts postponed jobs at once, and waits until all jobs have ended. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#jobs.values());
  }

  get #connected(): JobHandlers {
    if (this.#handlers === undefined) throw new Error('connect was not called');
    return this.#handlers;
  }

  async #settle(job: string, run: Promise<void>): Promise<void> {
    try {
      await run;
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#failure ??= { error };
    } finally {
      this.#jobs.delete(job);
      this.#notify();
    }
  }

  async #runTurn(conversation: ConversationRef): Promise<void> {
    await this.#untilTaken(() => this.#connected.turn(conversation));
  }

  async #runPass(conversation: ConversationRef, job: string): Promise<void> {
    let haveChildrenEnded = false;
    for (;;) {
      const delivery = { conversation, job, haveChildrenEnded };
      const result = await this.#untilTaken(() => this.#connected.compaction(delivery));
      if (result?.status !== 'parked') return;
      await Promise.all(result.children.map((child) => this.#summarize(child)));
      haveChildrenEnded = true;
    }
  }

  async #summarize({ child: _child, ...task }: Child): Promise<void> {
    const requestedAt = Date.now();
    for (let attempt = 1; ; ) {
      const isLastAttempt = attempt >= summarizeJob.attempts;
      try {
        const result = await this.#connected.summarization({ task, requestedAt, isLastAttempt });
        if (result.status === 'ended') return;
        if (result.status === 'postponed') await this.#pause(result.delayMs);
        else await this.#pause(result.status === 'limited' ? result.retryAt - Date.now() : IN_FLIGHT_MS);
      } catch (error) {
        if (isLastAttempt || this.#closed.signal.aborted) throw error;
        attempt += 1;
        await this.#pause(summarizeJob.backoffMs);
      }
    }
  }

  async #untilTaken<Result extends { readonly status: string }>(
    deliver: () => Promise<Result | Postponed | undefined>,
  ): Promise<Result | Postponed | undefined> {
    for (;;) {
      const result = await deliver();
      if (result?.status !== 'postponed') return result;
      await this.#pause((result as Postponed).delayMs); // the status determines the type
    }
  }

  /** @throws AbortError once the queue is closed */
  async #pause(ms: number): Promise<void> {
    await sleep(Math.max(0, ms), undefined, { signal: this.#closed.signal });
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
