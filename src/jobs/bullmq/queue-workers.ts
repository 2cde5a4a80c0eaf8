import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import type { InboxDelivery } from '../../domain/events.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import type { InboxHandler, PassHandler, SummarizationHandler, TurnHandler } from '../ports.ts';
import { INBOX_LIMITS, INBOX_QUEUE, QUEUES, type QueueName } from '../queues.ts';
import { type DeliveryListeners, deliverInbox, deliverTurns, type JobDelivery } from './delivery.ts';
import { DueWakeRunner } from './due-wake-runner.ts';
import { DueWakes } from './due-wakes.ts';
import { deliverPasses, deliverSummarizations } from './fan-out.ts';
import { openQueueConnection, type QueueConnection, type QueueErrorListener } from './queue-connection.ts';
import { QueueSet, reportErrors } from './queue-set.ts';
import { Intake, openQueueWorker } from './queue-worker.ts';

interface QueueRole<Handler> {
  readonly handler: Handler;
  /** Number of jobs in parallel, divided among the shards. Each shard gets at least one job. */
  readonly concurrency: number;
}

export interface QueueWorkersOptions extends RedisLocation {
  readonly shards: number;
  readonly roles: {
    readonly turn?: QueueRole<TurnHandler>;
    readonly compaction?: QueueRole<PassHandler>;
    readonly summarization?: QueueRole<SummarizationHandler>;
    /** Handles turns that other services add. This queue has one shard. */
    readonly inbox?: QueueRole<InboxHandler>;
  };
  readonly onError: QueueErrorListener;
  /** Called when a job was removed because its data cannot be read. */
  readonly onDrop?: (queue: QueueName, job: string, error: unknown) => void;
  readonly onTaken?: (delivery: InboxDelivery) => void;
  readonly onReclaim?: (queue: QueueName) => void;
  readonly deadlineMs: number;
}

/** `deadline`: some jobs had not ended. Their leases and locks lapse, and other workers continue those jobs. */
type CloseOutcome = 'closed' | 'deadline';

export interface QueueWorkers {
  /** Starts to take jobs. Resolves when connected, however long Redis is down, or when closed. May be called once. */
  start(): Promise<void>;
  /** Closes the workers, and waits for jobs in flight until the deadline. May be called again. */
  close(): Promise<CloseOutcome>;
  /** True if the workers were started, are not closing, and all take jobs. */
  isRunning(): boolean;
  readonly intakes: readonly Intake[];
}

export function openQueueWorkers(options: QueueWorkersOptions): QueueWorkers {
  const intakes: Intake[] = [];
  let running: RunningWorkers | undefined;
  let closing: Promise<CloseOutcome> | undefined;
  return {
    async start() {
      if (running !== undefined || closing !== undefined)
        throw new Error('the queue workers were started twice or after close. Open new queue workers instead');
      const connection = openQueueConnection(options);
      let opened: OpenedWorker[];
      try {
        opened = openWorkers(options, connection);
      } catch (error) {
        connection.disconnectAll(); // an unused connection would keep the process alive
        throw error;
      }
      intakes.push(...opened.map(({ intake }) => intake));
      running = new RunningWorkers(opened, connection, options.onError);
      await running.waitUntilReady();
    },
    async close() {
      closing ??= running?.close(options.deadlineMs) ?? Promise.resolve('closed');
      return await closing;
    },
    isRunning: () => closing === undefined && running?.isRunning() === true,
    intakes,
  };
}

/**
 * Divides the concurrency of a role among shards, at least one job each: this process would never run jobs of a shard
 * without a share. The remainder goes to the shards from `first` on. A random `first` in each process spreads it.
 */
export function shareOut(concurrency: number, shards: number, first = 0): number[] {
  return Array.from({ length: shards }, (_, shard) => {
    const place = (shard - first + shards) % shards;
    return Math.max(1, Math.floor((concurrency + shards - 1 - place) / shards));
  });
}

/** Number of jobs in parallel: the concurrency, or one job for each shard if there are more shards. */
export function totalConcurrency(concurrency: number, shards: number): number {
  return Math.max(concurrency, shards);
}

interface OpenedWorker {
  readonly worker: Worker;
  readonly intake: Intake;
  readonly runner?: DueWakeRunner | undefined;
}

type DeliveryFor = (intake: Intake) => { readonly deliver: JobDelivery; readonly runner?: DueWakeRunner };

function openWorkers(options: QueueWorkersOptions, connection: QueueConnection): OpenedWorker[] {
  const { roles, shards, prefix, onError, onReclaim, onDrop } = options;
  const { turn, compaction, summarization, inbox } = roles;
  const first = Math.floor(Math.random() * shards);
  const listenersOf = (name: QueueName): DeliveryListeners => ({
    report: (error) => onError(error, name),
    drop: (job, error) => onDrop?.(name, job, error),
  });
  const open = (name: QueueName, role: { readonly concurrency: number }, deliverTo: DeliveryFor): OpenedWorker[] => {
    return shareOut(role.concurrency, shards, first).map((concurrency, shard) => {
      const intake = new Intake({ queue: name, shard, concurrency });
      const { deliver, runner } = deliverTo(intake);
      const served = { name, shard, prefix, connection, concurrency, deliver: intake.count(deliver) };
      const worker = openQueueWorker({ ...served, onError, ...(onReclaim && { onReclaim }) });
      runner?.watch(worker);
      return { worker, intake, runner };
    });
  };
  const workers: OpenedWorker[] = [];
  if (turn !== undefined) {
    const name = QUEUES.turn;
    const queues = new QueueSet({ connection, names: [name], shards, prefix, onError });
    const dueWakes = new DueWakes(connection);
    const report = reportErrors(name, onError);
    const deliverTo: DeliveryFor = (intake) => {
      const runner = new DueWakeRunner({ dueWakes, queue: queues.at(name, intake.shard), intake, report });
      return { deliver: deliverTurns(turn.handler, listenersOf(name), runner), runner };
    };
    workers.push(...open(name, turn, deliverTo));
  }
  if (compaction !== undefined) {
    const children = new QueueSet({ connection, names: [QUEUES.summarization], shards, prefix, onError });
    const deliver = deliverPasses(compaction.handler, children, listenersOf(QUEUES.compaction));
    workers.push(...open(QUEUES.compaction, compaction, () => ({ deliver })));
  }
  if (summarization !== undefined) {
    const deliver = deliverSummarizations(summarization.handler, listenersOf(QUEUES.summarization));
    workers.push(...open(QUEUES.summarization, summarization, () => ({ deliver })));
  }
  if (inbox !== undefined) workers.push(openInbox(options, connection, inbox));
  return workers;
}

function openInbox(
  { prefix, onError, onReclaim, onTaken = () => undefined }: QueueWorkersOptions,
  connection: QueueConnection,
  { handler, concurrency }: QueueRole<InboxHandler>,
): OpenedWorker {
  const intake = new Intake({ queue: INBOX_QUEUE, shard: 0, concurrency });
  const worker = openQueueWorker({
    name: INBOX_QUEUE,
    shard: 0,
    prefix,
    connection,
    concurrency,
    deliver: intake.count(deliverInbox(handler, onTaken)),
    onError,
    ...(onReclaim && { onReclaim }),
    maxDataCharacters: INBOX_LIMITS.dataCharacters,
    kept: {
      removeOnComplete: { age: INBOX_LIMITS.keptSeconds, count: INBOX_LIMITS.keptJobs },
      removeOnFail: { age: INBOX_LIMITS.keptSeconds, count: INBOX_LIMITS.keptJobs },
    },
  });
  return { worker, intake };
}

/** ms for which a close waits until the due wakes that were just taken have become jobs. */
const LAST_LOOK_MS = 200;

/** ms without Redis after which a close gives up. Reconnects are a second apart. */
const GIVE_UP_MS = 1_500;

/** The workers of a process, from the moment they take jobs until they are cut off. Owns their connection. */
class RunningWorkers {
  readonly #workers: readonly Worker[];
  readonly #runners: readonly DueWakeRunner[];
  readonly #connection: QueueConnection;
  readonly #runs: Promise<unknown>;

  constructor(opened: readonly OpenedWorker[], connection: QueueConnection, onError: QueueErrorListener) {
    const workers = opened.map(({ worker }) => worker);
    this.#workers = workers;
    this.#runners = opened.flatMap(({ runner }) => runner ?? []);
    this.#connection = connection;
    this.#runs = Promise.all(
      workers.map((worker) => worker.run().catch((error: unknown) => onError(error, worker.name))),
    );
  }

  isRunning(): boolean {
    return this.#workers.length > 0 && this.#workers.every((worker) => worker.isRunning());
  }

  async waitUntilReady(): Promise<void> {
    const ready = Promise.allSettled(this.#workers.map((worker) => worker.waitUntilReady()));
    await Promise.race([ready, this.#runs]);
  }

  /**
   * Closes the workers. Gives up at the deadline, or if Redis is down for too long: BullMQ's close might then never
   * end.
   */
  async close(deadlineMs: number): Promise<CloseOutcome> {
    const ended = new AbortController();
    const closed = Promise.allSettled(this.#workers.map((worker) => worker.close())).then(() => 'closed' as const);
    const deadline = sleep(deadlineMs, 'deadline' as const, { signal: ended.signal });
    deadline.catch(() => undefined); // the signal is aborted below, which rejects this promise
    const lost = untilLost(this.#connection, ended.signal).then(() => 'deadline' as const);
    const outcome = await Promise.race([closed, deadline, lost]);
    // If a search for due wakes is cut off, the wakes that it took are lost until the sweeper replaces them. Redis may
    // be frozen, so this wait is short.
    const looks = Promise.all(this.#runners.map((runner) => runner.close()));
    if (outcome === 'closed') await Promise.race([looks, sleep(LAST_LOOK_MS, undefined, { ref: false })]);
    ended.abort();
    this.#connection.disconnectAll();
    return outcome;
  }
}

/**
 * Resolves when the connection was down for `GIVE_UP_MS` without a break. Never resolves once the signal is aborted.
 */
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
