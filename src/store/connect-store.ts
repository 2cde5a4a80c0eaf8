import { callRedis, openConnection } from './connection.ts';
import { openDatabase } from './database.ts';
import { type Notices, openNotices } from './notices.ts';
import { openStore, type Store } from './open-store.ts';

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
    if (failsFast) await callRedis(() => redis.connect());
    const keyspace = await openDatabase(redis, { shards });
    const notices = openNotices(redis, keyspace);
    return {
      store: openStore(redis, keyspace),
      notices,
      close: async () => {
        notices.close();
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}
