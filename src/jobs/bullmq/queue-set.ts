import { crc32 } from 'node:zlib';
import { ErrorCode, type JobsOptions, Queue } from 'bullmq';
import { TurnfoldError } from '../../domain/errors.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { isOutage, nameRedisError } from '../../store/redis/errors.ts';
import { type JobDefinition, type WakeTask, wakePassJob, wakeTurnJob } from '../job.ts';
import type { WakeKind } from '../ports.ts';
import { HIGHEST_PRIORITY, INBOX_QUEUE, type QueueName, queuePrefix } from '../queues.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';

interface QueueSetOptions {
  readonly connection: QueueConnection;
  readonly names: readonly QueueName[];
  /** Number N of shards, with the hash tags {tq0}…{tq(N−1)}. All processes of a database must use the same number. */
  readonly shards: number;
  readonly prefix: string | undefined;
  readonly onError: QueueErrorListener;
  readonly failsFast?: boolean;
}

/** Number of events that a queue keeps, for the reader in `shard-waits.ts`. BullMQ's default is 10,000. */
const KEPT_EVENTS = 100;

export class QueueSet {
  readonly #queues: ReadonlyMap<QueueName, readonly Queue[]>;
  readonly #shards: number;

  constructor(options: QueueSetOptions) {
    this.#shards = options.shards;
    this.#queues = new Map(
      options.names.map((name) => [
        name,
        Array.from({ length: options.shards }, (_, shard) => openQueue(options, name, shard)),
      ]),
    );
  }

  /** Queue of a conversation. All jobs of a conversation are in one shard. */
  of(name: QueueName, { tenant, id }: ConversationRef): Queue {
    return this.at(name, crc32(`${tenant}/${id}`) % this.#shards);
  }

  at(name: QueueName, shard: number): Queue {
    const queue = this.#queues.get(name)?.[shard];
    if (queue === undefined) throw new Error(`the queue ${name} is not open in this process`);
    return queue;
  }

  entries(): Iterable<readonly [QueueName, readonly Queue[]]> {
    return this.#queues.entries();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].flat().map((queue) => queue.close()));
  }
}

/** Error listener that leaves out outages, because the connection itself reports them. */
export function reportErrors(name: QueueName, onError: QueueErrorListener): (error: unknown) => void {
  return (error) => {
    if (!isOutage(error)) onError(nameQueueError(error), name);
  };
}

function nameQueueError(cause: unknown): unknown {
  const missing: readonly unknown[] = [ErrorCode.JobNotExist, ErrorCode.JobLockNotExist];
  const isMissing = cause instanceof Error && 'code' in cause && missing.includes(cause.code);
  if (!isMissing) return nameRedisError(cause);
  const message =
    'job: Redis has no record of this job, or of its lock. Another worker took the job, or the queue was emptied. The work itself is in the store.';
  return new TurnfoldError('not_found', message, { field: 'job', cause });
}

function openQueue(options: QueueSetOptions, name: QueueName, shard: number): Queue {
  const isClient = options.failsFast === true;
  const queue = new Queue(name, {
    connection: options.connection,
    prefix: queuePrefix(shard, options.prefix),
    streams: { events: { maxLen: KEPT_EVENTS } },
    // BullMQ never repeats a failed check of the Redis version. With that check, a client that starts during an outage
    // would never work.
    skipWaitingForReady: isClient,
    skipVersionCheck: isClient,
  });
  queue.on('error', reportErrors(name, options.onError));
  return queue;
}

export interface InboxPlace {
  readonly connection: QueueConnection;
  readonly prefix: string | undefined;
}

/** Opens the inbox for a reader. The caller closes it. */
export function openInboxQueue({ connection, prefix }: InboxPlace): Queue {
  return new Queue(INBOX_QUEUE, {
    connection,
    prefix: queuePrefix(0, prefix),
    // A reader must not change the settings that the producers have stored.
    skipMetasUpdate: true,
    // Without this option, a Redis user that may not run INFO could not start the queue.
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
}

export const WAKE_JOBS = { turn: wakeTurnJob, pass: wakePassJob } satisfies Record<WakeKind, JobDefinition<WakeTask>>;

interface WakeToAdd extends WakeTask {
  readonly kind: WakeKind;
  readonly wake: string;
  readonly priority?: number | undefined;
  readonly delayMs?: number;
}

/** The job of a wake. The same wake always has the same job id, so that the queue adds its job once. */
export function describeWakeJob({ kind, wake, priority, delayMs = 0, ...task }: WakeToAdd) {
  const definition = WAKE_JOBS[kind];
  const opts: JobsOptions = {
    jobId: jobIdOf(wake),
    priority: Math.max(HIGHEST_PRIORITY, priority ?? definition.priority),
    delay: delayMs,
    // BullMQ ignores a new job whose id belongs to a finished job, so finished jobs are removed.
    removeOnComplete: true,
    removeOnFail: true,
  };
  return { name: definition.name, data: definition.write(task), opts };
}

/** Job id of a wake. BullMQ refuses ids of digits only. */
export function jobIdOf(wake: string): string {
  return `w-${wake}`;
}
