import { setImmediate as pass } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { batchWrites } from '../../src/store/redis/server-connections.ts';

const COMMANDS = 100;

async function connect(): Promise<Redis> {
  const redis = new Redis(inject('redisUrl'));
  batchWrites(redis);
  onTestFinished(() => redis.disconnect());
  await redis.ping();
  await pass();
  return redis;
}

/** Counts the writes to a socket. Node hands one chunk to `_write`, and several at once to `_writev`. */
function countWrites({ stream }: Redis): () => number {
  const spies = [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev' as '_write')];
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
}

test('commands of one pass of the event loop reach Redis in one write, in order', async () => {
  const redis = await connect();
  const writes = countWrites(redis);
  const echoes = Array.from({ length: COMMANDS }, async (_, number) => {
    if (number % 2 === 1) await Promise.resolve();
    return await redis.echo(String(number));
  });
  const numbers = Array.from({ length: COMMANDS }, (_, number) => String(number));
  expect(await Promise.all(echoes)).toEqual(numbers);
  expect(writes()).toBe(1);
  await pass();
  expect(await redis.echo('later')).toBe('later');
  expect(writes()).toBe(2);
});

test('commands that wait for the end of a pass of the event loop are sent again after the connection is lost', async () => {
  const redis = await connect();
  const answer = redis.echo('kept');
  redis.stream.destroy();
  expect(await answer).toBe('kept');
});

test('a command that is followed by a disconnect in the same pass of the event loop is still sent', async () => {
  const [redis, other] = [await connect(), await connect()];
  const key = `batched-writes-${process.pid}`;
  onTestFinished(async () => void (await other.del(key)));
  redis.set(key, 'sent').catch(() => undefined);
  redis.disconnect();
  await vi.waitFor(async () => expect(await other.get(key)).toBe('sent'), 60_000);
});
