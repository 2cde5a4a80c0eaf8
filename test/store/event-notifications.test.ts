import { afterAll, expect, test } from 'vitest';
import { EventNotices } from '../../src/store/events.ts';
import { Subscriber } from '../../src/store/redis/subscriber.ts';
import { openSuiteRedis } from './open-redis.ts';
import { newConversation } from './samples.ts';

const HOUR_MS = 3_600_000;
const { redis, keyspace, close } = openSuiteRedis();
const subscriber = new Subscriber(redis);
const notifications = new EventNotices(subscriber, keyspace);
afterAll(async () => {
  notifications.close();
  subscriber.close();
  await close();
});

test('aborting one of several waits for events ends only that wait, and the subscription ends after the last one', async () => {
  const conversation = newConversation();
  const channel = keyspace.key(conversation, 'ev');
  const count = async (): Promise<number> => ((await redis.pubsub('CHANNELS', channel)) as string[]).length;
  // The first wait resolves once the subscription has begun.
  await notifications.wait(conversation, HOUR_MS);
  expect(await count()).toBe(1);
  const work = new AbortController();
  const over: string[] = [];
  const waits = [
    notifications.wait(conversation, HOUR_MS, work.signal).then(() => over.push('aborted')),
    notifications.wait(conversation, HOUR_MS).then(() => over.push('told')),
  ];
  work.abort();
  await waits[0];
  expect(over).toEqual(['aborted']);
  await redis.publish(channel, 'news');
  await waits[1];
  await expect.poll(count, { timeout: 60_000 }).toBe(0);
  await notifications.wait(conversation, HOUR_MS, work.signal);
  expect(await count(), 'of a signal that has aborted').toBe(0);
});
