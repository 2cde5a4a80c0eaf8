import { EmbeddedRedis } from './embedded/server.ts';
import { Keyspace } from './keys.ts';
import { openStore, type Store } from './open-store.ts';
import { Subscriber } from './redis/subscriber.ts';
import { openStreamNotices, type StreamNotices } from './streams.ts';

export interface EmbeddedStore {
  readonly store: Store & StreamNotices;
  readonly redis: EmbeddedRedis;
  readonly close: () => void;
}

/** Opens a store over a Redis in this process, which runs the same scripts. Its data ends with the process. */
export async function openEmbeddedStore(): Promise<EmbeddedStore> {
  const redis = await EmbeddedRedis.open();
  const connection = redis.connect();
  const subscriber = new Subscriber(connection);
  const keyspace = new Keyspace(1);
  return {
    store: { ...openStore(connection, keyspace), ...openStreamNotices(subscriber, keyspace) },
    redis,
    close: () => {
      subscriber.close();
      connection.disconnect();
    },
  };
}
