import { Redis, type RedisOptions } from 'ioredis';
import { reportOutages } from '../domain/redis-errors.ts';

/** Told of what went wrong outside of any call; `where` is a queue's name or `connection`. */
export type QueueErrorListener = (error: unknown, where: string) => void;

export interface QueueConnectionOptions {
  readonly url: string;
  readonly onError: QueueErrorListener;
  /** for clients: a command fails while Redis is away; otherwise it waits until Redis is back */
  readonly failsFast?: boolean;
}

const WAITING = { maxRetriesPerRequest: null, enableOfflineQueue: true };
const FAILING_FAST = { maxRetriesPerRequest: 0, enableOfflineQueue: false };

/**
 * One connection to Redis, shared by all queues that it is given to, and the copies that BullMQ makes of it: one per
 * worker, to block on. It owns the copies too, because BullMQ leaves them open where its own close does not end.
 */
export class QueueConnection extends Redis {
  readonly #copies: Redis[] = [];

  constructor({ url, onError, failsFast = false }: QueueConnectionOptions) {
    super(url, {
      ...(failsFast ? FAILING_FAST : WAITING),
      // A closed socket never says so again, and ioredis would wait two seconds for it.
      disconnectTimeout: 100,
      connectTimeout: 5_000,
      retryStrategy: (times) => Math.min(50 * times, 1_000),
    });
    const outages = reportOutages((error) => onError(error, 'connection'));
    this.on('error', outages.onError);
    this.on('ready', outages.onReady);
  }

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate(override);
    copy.on('error', ignoreSameOutage);
    this.#copies.push(copy);
    return copy;
  }

  /** Cuts everything at once, whatever is under way. */
  disconnectAll(): void {
    for (const connection of [this, ...this.#copies]) cut(connection);
  }
}

/**
 * Disconnected between two attempts to come back, ioredis forgets the commands that wait: whoever awaits one would wait for
 * ever, and keep the process alive. An attempt that is cut ends them with an error.
 */
function cut(connection: Redis): void {
  if (connection.status === 'end') return; // a second disconnect would keep a timer of two seconds
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
  connection.disconnect();
}

function ignoreSameOutage(): void {
  // The connection itself has said so; without a listener ioredis would print it.
}
