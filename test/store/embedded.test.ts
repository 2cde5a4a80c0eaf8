import { connectEmbedded } from '../../src/embedded-redis/connect-embedded.ts';
import { EmbeddedRedis } from '../../src/embedded-redis/server.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { describeStore, STORE_ROOMS } from './contract/store.ts';
import { openRedisStoreHarness } from './store-harness.ts';

const server = await EmbeddedRedis.open();

function open() {
  server.database.clear();
  const redis = connectEmbedded(server);
  return { redis, keyspace: new Keyspace(1), close: async () => redis.disconnect() };
}

for (const room of STORE_ROOMS) describeStore(room, 'the in-process Redis', () => openRedisStoreHarness(open as never));
