import type { Redis } from 'ioredis';
import type { TextListener } from '../domain/ports/text-deltas.ts';
import { outage } from '../domain/redis-errors.ts';
import { openConnection } from './connection.ts';
import { openDatabase } from './database.ts';
import { type Notices, openNotices } from './notices.ts';
import { openStore, type Store } from './open-store.ts';
import { Subscriber } from './subscriber.ts';
import { openTextListener } from './text-deltas.ts';

export interface StoreOptions {
  readonly url: string;
  /** the shards that the database was made with */
  readonly shards: number;
  /** for services: no call takes longer than a second; workers wait until Redis is back */
  readonly failsFast?: boolean;
  readonly onError?: (error: Error) => void;
}

export interface ConnectedStore {
  readonly store: Store;
  readonly notices: Notices;
  readonly texts: TextListener;
  readonly close: () => Promise<void>;
}

/** Leaves the rest of a second to the caller. */
const FAIL_FAST_MS = 900;

/** @throws invalid_config, incompatible_store; failing fast also redis_unavailable */
export async function connectStore({ url, shards, failsFast = false, onError }: StoreOptions): Promise<ConnectedStore> {
  const redis = openConnection({
    url,
    failsFast,
    ...(failsFast ? { commandTimeoutMs: FAIL_FAST_MS } : {}),
    ...(onError === undefined ? {} : { onError }),
  });
  try {
    if (failsFast) await connect(redis);
    const keyspace = await openDatabase(redis, { shards });
    const subscriber = new Subscriber(redis);
    const notices = openNotices(subscriber, keyspace);
    return {
      store: openStore(redis, keyspace),
      notices,
      texts: openTextListener(redis, keyspace, subscriber),
      close: async () => {
        notices.close();
        subscriber.close();
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

/** Where it fails ioredis says no more than that the connection is closed; why comes as an event. @throws redis_unavailable */
async function connect(redis: Redis): Promise<void> {
  let reason: Error | undefined;
  const keepReason = (error: Error): void => {
    reason = error;
  };
  redis.on('error', keepReason);
  try {
    await redis.connect();
  } catch (error) {
    throw outage(reason ?? (error as Error));
  } finally {
    redis.off('error', keepReason);
  }
}
