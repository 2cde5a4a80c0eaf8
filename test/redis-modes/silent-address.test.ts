import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { openQueueConnection } from '../../src/jobs/bullmq/queue-connection.ts';
import { connectStore } from '../../src/store/connect-store.ts';
import { SILENCE_MS } from '../../src/store/redis/open-redis.ts';
import { FaultyProxy } from '../chaos/faulty-proxy.ts';
import { openWorkers, SHARDS, useServer } from './fixture.ts';
import { hasServer, until } from './servers.ts';

/** Longest block of BullMQ, plus the time of a check and a margin. */
const BLOCKED_MS = 20_000;

async function openAddress() {
  const server = await useServer();
  const address = await FaultyProxy.listen(server.port);
  onTestFinished(() => address.close());
  return { server, address };
}

test.skipIf(!hasServer)(
  'after the machine behind the Redis address stops answering, a worker connects to the new machine at that address',
  {
    timeout: 60_000,
  },
  async () => {
    const { server, address } = await openAddress();
    const workers = await openWorkers({
      redisUrl: address.url,
      roles: ['turn'],
      concurrency: { turn: 1, compaction: 1, summarization: 1 },
      metrics: { host: '127.0.0.1', port: 0 },
      onEvent: () => undefined,
    });
    onTestFinished(async () => void (await workers.close()));
    const store = await connectStore({ url: address.url, shards: SHARDS });
    onTestFinished(() => store.close());
    const client = await openClient({ redisUrl: server.url, shards: SHARDS, queueShards: 1 });
    onTestFinished(() => client.close());
    const conversation = { tenant: '_', id: 'c1' };
    await client.enqueueTurn({ conversation: 'c1', agent: 'guide', input: 'before', turn: 't1' });
    expect(await client.result('c1', 't1', { waitMs: 10_000 })).toMatchObject({ state: 'completed' });

    address.abandon();
    const read = store.store.readConversation(conversation).then(() => 'read');
    const late = new Promise((resolve) => void setTimeout(resolve, SILENCE_MS + 2_000, 'nothing'));
    expect(await Promise.race([read, late])).toBe('read');
    await client.enqueueTurn({ conversation: 'c1', agent: 'guide', input: 'after', turn: 't2' });
    expect(await client.result('c1', 't2', { waitMs: BLOCKED_MS })).toMatchObject({ state: 'completed' });
  },
);

test.skipIf(!hasServer)(
  'a queue command runs only once although Redis stalls so long that the connection is dropped and opened again',
  { timeout: 30_000 },
  async () => {
    const server = await useServer();
    const redis = openQueueConnection({ url: server.url, onError: () => undefined });
    onTestFinished(() => redis.disconnectAll());
    await redis.ping();
    server.signal('SIGSTOP');
    const stalledUntil = Date.now() + SILENCE_MS + 1_000;
    const counted = redis.incr('count');
    await until('the stall is over', () => Date.now() > stalledUntil);
    server.signal('SIGCONT');
    await counted;
    expect(await server.redis.get('count')).toBe('1');
  },
);
