import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Subscriber } from '../../src/store/redis/subscriber.ts';
import { FaultyProxy } from '../chaos/faulty-proxy.ts';
import { openSuiteRedis } from './open-redis.ts';

/** A busy machine delays an answer, too, and only a swallowed one may count as lost. */
const COMMAND_TIMEOUT_MS = 3_000;

async function openSubscriber() {
  const { redis, close } = openSuiteRedis();
  onTestFinished(close);
  const { port = 0, password } = redis.options;
  const proxy = await FaultyProxy.listen(port);
  const client = new Redis(proxy.url, {
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    ...(password && { password }), // a Redis in a container asks for one
  });
  client.on('error', () => undefined);
  const subscriber = new Subscriber(client);
  onTestFinished(async () => {
    subscriber.close();
    client.disconnect();
    await proxy.close();
  });
  return { redis, client, proxy, subscriber };
}

/** The own resubscription of ioredis ignores failures, and the unhandled rejection would end the process. */
test('a subscriber subscribes again after two failed attempts, without an unhandled rejection', async () => {
  const unheard: unknown[] = [];
  const note = (reason: unknown): void => void unheard.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const { redis, proxy, subscriber } = await openSubscriber();
  const heard: string[] = [];
  await subscriber.join('news', (text) => heard.push(text));

  let lost = 0;
  proxy.swallow((reply) => {
    const isLost = reply.includes('subscribe') && lost < 2;
    if (isLost) lost += 1;
    return isLost;
  });
  proxy.cut({ isStillLossy: true });

  await vi.waitFor(() => expect(lost).toBe(2), { timeout: 60_000 });
  await vi.waitFor(
    async () => {
      await redis.publish('news', 'again');
      expect(heard).toContain('again');
    },
    { timeout: 60_000 },
  );
  // Other tests share the server, but only one connection listens to this channel.
  await vi.waitFor(async () => expect(await redis.pubsub('NUMSUB', 'news')).toEqual(['news', 1]), { timeout: 60_000 });
  expect(unheard).toEqual([]);
});

test('a subscriber sends its subscription again if Redis did not answer', async () => {
  const { redis, proxy, subscriber } = await openSubscriber();
  await subscriber.join('first', () => undefined);
  proxy.swallow();
  const heard: string[] = [];
  await expect(subscriber.join('second', (text) => heard.push(text))).rejects.toThrow('Command timed out');
  proxy.cut();
  await vi.waitFor(
    async () => {
      await redis.publish('second', 'news');
      expect(heard).toContain('news');
    },
    { timeout: 60_000 },
  );
});

test('a closed subscriber opens no connection to Redis', async () => {
  const { client, proxy, subscriber } = await openSubscriber();
  await client.ping();
  subscriber.close();
  await expect(subscriber.join('news', () => undefined)).rejects.toMatchObject({ code: 'redis_unavailable' });
  await client.ping();
  expect(proxy.opened, 'the connection of the client').toBe(1);
});
