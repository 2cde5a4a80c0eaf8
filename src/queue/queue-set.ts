import { crc32 } from 'node:zlib';
import { Queue } from 'bullmq';
import type { ConversationRef } from '../domain/ids.ts';
import { type QueueName, queuePrefix } from '../jobs/names.ts';
import { isOutage } from '../redis/errors.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';

export interface QueueSetOptions {
  readonly connection: QueueConnection;
  readonly names: readonly QueueName[];
  /** N of the hash tags {tq0}…{tq(N−1)}: the same in every process of a database */
  readonly shards: number;
  readonly namespace: string | undefined;
  readonly onError: QueueErrorListener;
  readonly failsFast?: boolean;
}

/** Events kept per queue. They are read for when a job came back (`arrivals.ts`); BullMQ's own default is 10,000. */
const KEPT_EVENTS = 100;

/** The adding side of some queues, in every shard. */
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

  /** The queue that holds a conversation's jobs: all of one conversation lie in one shard. */
  of(name: QueueName, { tenant, id }: ConversationRef): Queue {
    const queue = this.#queues.get(name)?.[crc32(`${tenant}/${id}`) % this.#shards];
    if (queue === undefined) throw new Error(`the queue ${name} was not opened`);
    return queue;
  }

  entries(): Iterable<readonly [QueueName, readonly Queue[]]> {
    return this.#queues.entries();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].flat().map((queue) => queue.close()));
  }
}

/** Errors of a queue or a worker, but for those of the connection, which reports its own. */
export function reportErrors(name: QueueName, onError: QueueErrorListener): (error: Error) => void {
  return (error) => {
    if (!isOutage(error)) onError(error, name);
  };
}

function openQueue(options: QueueSetOptions, name: QueueName, shard: number): Queue {
  const isClient = options.failsFast === true;
  const queue = new Queue(name, {
    connection: options.connection,
    prefix: queuePrefix(shard, options.namespace),
    streams: { events: { maxLen: KEPT_EVENTS } },
    // The version check asks Redis at once and remembers a failure for good: a client that starts while Redis is away
    // would stay dead after it is back.
    skipWaitingForReady: isClient,
    skipVersionCheck: isClient,
  });
  queue.on('error', reportErrors(name, options.onError));
  return queue;
}
