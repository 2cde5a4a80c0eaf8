import type { Worker } from 'bullmq';
import type { PassHandler, SummarizationHandler, TurnHandler } from '../domain/ports/queue.ts';
import { QUEUES, type QueueName } from '../jobs/names.ts';
import type { RedisLocation } from '../redis/address.ts';
import type { Delivery, Drop, Report } from './delivery.ts';
import { Intake } from './intake.ts';
import { deliverPasses } from './pass-deliveries.ts';
import { openQueueConnection, type QueueConnection, type QueueErrorListener } from './queue-connection.ts';
import { QueueSet } from './queue-set.ts';
import { openQueueWorker } from './queue-worker.ts';
import { type CloseOutcome, RunningWorkers } from './running-workers.ts';
import { shareOut } from './shares.ts';
import { deliverSummarizations } from './summarization-deliveries.ts';
import { deliverTurns } from './turn-deliveries.ts';

export interface QueueRole<Handler> {
  readonly handler: Handler;
  /** jobs at a time in this process, shared out among the shards; each gets one at least */
  readonly concurrency: number;
}

export interface QueueWorkersOptions extends RedisLocation {
  readonly shards: number;
  readonly namespace?: string;
  readonly roles: {
    readonly turn?: QueueRole<TurnHandler>;
    readonly compaction?: QueueRole<PassHandler>;
    readonly summarization?: QueueRole<SummarizationHandler>;
  };
  readonly onError: QueueErrorListener;
  /** told of a job that was removed because it cannot be read */
  readonly onDrop?: (queue: QueueName, job: string, error: unknown) => void;
  /** told for each job that this process found without its worker */
  readonly onReclaim?: (queue: QueueName) => void;
  /** how long a close waits for the jobs in hand */
  readonly deadlineMs: number;
}

export interface QueueWorkers {
  /** Connects and takes jobs; may be called once. Resolves when connected, however long Redis is away, or closed. */
  start(): Promise<void>;
  /** Takes no more jobs and waits for those in hand, until the deadline and no longer. May be called again. */
  close(): Promise<CloseOutcome>;
  /** started, not closing, and every worker is taking jobs */
  isRunning(): boolean;
  /** what it takes, of each shard of each queue */
  readonly intakes: readonly Intake[];
}

/** The workers of all roles of a process. */
export function openQueueWorkers(options: QueueWorkersOptions): QueueWorkers {
  const intakes: Intake[] = [];
  let running: RunningWorkers | undefined;
  let closing: Promise<CloseOutcome> | undefined;
  return {
    async start() {
      if (running !== undefined || closing !== undefined) throw new Error('queue workers start once');
      const connection = openQueueConnection(options);
      const opened = openOrCut(options, connection);
      intakes.push(...opened.map(({ intake }) => intake));
      const workers = opened.map(({ worker }) => worker);
      running = new RunningWorkers(workers, connection, options.onError);
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

/** A connection that nobody works on would keep the process. */
function openOrCut(...parts: Parameters<typeof openWorkers>): OpenedWorker[] {
  try {
    return openWorkers(...parts);
  } catch (error) {
    parts[1].disconnectAll();
    throw error;
  }
}

interface OpenedWorker {
  readonly worker: Worker;
  readonly intake: Intake;
}

function openWorkers(options: QueueWorkersOptions, connection: QueueConnection): OpenedWorker[] {
  const { roles, shards, namespace, onError, onReclaim, onDrop } = options;
  const { turn, compaction, summarization } = roles;
  const first = Math.floor(Math.random() * shards);
  const listenersOf = (name: QueueName): { report: Report; drop: Drop } => ({
    report: (error) => onError(error, name),
    drop: (job, error) => onDrop?.(name, job, error),
  });
  const open = (name: QueueName, role: { readonly concurrency: number }, deliver: Delivery): OpenedWorker[] => {
    return shareOut(role.concurrency, shards, first).map((concurrency, shard) => {
      const intake = new Intake({ queue: name, shard, concurrency });
      const counted = intake.count(deliver);
      const served = { name, shard, namespace, connection, concurrency, deliver: counted };
      const worker = openQueueWorker({
        ...served,
        onError,
        onDrop: listenersOf(name).drop,
        ...(onReclaim && { onReclaim }),
      });
      return { worker, intake };
    });
  };
  const workers: OpenedWorker[] = [];
  if (turn !== undefined) {
    workers.push(...open(QUEUES.turn, turn, deliverTurns(turn.handler, listenersOf(QUEUES.turn).drop)));
  }
  if (compaction !== undefined) {
    const children = new QueueSet({ connection, names: [QUEUES.summarization], shards, namespace, onError });
    const deliver = deliverPasses(compaction.handler, children, listenersOf(QUEUES.compaction));
    workers.push(...open(QUEUES.compaction, compaction, deliver));
  }
  if (summarization !== undefined) {
    const deliver = deliverSummarizations(summarization.handler, listenersOf(QUEUES.summarization));
    workers.push(...open(QUEUES.summarization, summarization, deliver));
  }
  return workers;
}
