import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { callRedis, openConnection } from '../../src/store/redis/connection.ts';
import { startOwnRedis } from '../client/fixture.ts';
import { findClosedPort } from '../local-redis/fixture.ts';

test('a Redis connection reports an outage once, even after several failed reconnects', async () => {
  const errors: Error[] = [];
  const redis = openConnection({
    url: `redis://127.0.0.1:${await findClosedPort()}`,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => redis.disconnect());
  for (const _ of [1, 2, 3]) await new Promise((resolve) => redis.once('reconnecting', resolve));
  expect(errors).toMatchObject([{ code: 'redis_unavailable' }]);
});

test('a Redis connection that breaks within a pipeline sends the unanswered command again after its reconnect', async () => {
  const url = inject('redisUrl');
  const redis = openConnection({ url });
  const other = new Redis(url);
  onTestFinished(() => {
    redis.disconnect();
    other.disconnect();
  });
  await redis.ping();
  const id = await redis.client('ID');
  const key = `list-${id}`;
  // Both commands are in one pipeline. The first is answered. The second is still blocked when the connection ends.
  const answers = Promise.all([callRedis(() => redis.exists(key)), callRedis(() => redis.blpop(key, 0))]);
  await expect.poll(async () => String(await other.client('LIST', 'ID', id)), { timeout: 60_000 }).toMatch(/cmd=blpop/);
  await other.client('KILL', 'ID', id);
  await other.rpush(key, 'there');
  expect(await answers).toEqual([0, [key, 'there']]);
});

test('two errors of one socket end no process, and the connection comes back', async () => {
  const redis = openConnection({ url: inject('redisUrl') });
  onTestFinished(() => redis.disconnect());
  await redis.ping();
  const { stream } = redis;
  for (const why of ['the connection was reset', 'an alert of TLS']) stream.emit('error', new Error(why));
  stream.destroy();
  expect(await redis.ping()).toBe('PONG');
});

const SILENCE_MS = 400;

async function openImpatient(): Promise<Redis> {
  const redis = openConnection({ url: inject('redisUrl'), failsFast: true, failSilenceMs: SILENCE_MS });
  onTestFinished(() => redis.disconnect());
  await redis.connect();
  return redis;
}

test('a Redis call gets its answer even if its own process was blocked for longer than the limit of silence', async () => {
  const redis = await openImpatient();
  const answer = redis.echo('there');
  const until = performance.now() + 3 * SILENCE_MS;
  while (performance.now() < until);
  expect(await answer).toBe('there');
});

test('a Redis call behind a long queue waits as long as Redis answers the calls before it', async () => {
  const redis = await openImpatient();
  const work = `local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
    local till = now() + ${SILENCE_MS / 10} while now() < till do end return #ARGV[1]`;
  // Redis sends the answers to all that it has read at once, which is up to 16 KiB.
  const argument = 'x'.repeat(32_000);
  const answers = await Promise.all(Array.from({ length: 20 }, () => redis.eval(work, 0, argument)));
  expect(answers).toEqual(Array.from({ length: 20 }, () => argument.length));
});

test('each call to a silent Redis fails after the same time, however long Redis has been silent', async ({ skip }) => {
  const server = await startOwnRedis(skip);
  const redis = openConnection({ url: server.url, failsFast: true, failSilenceMs: SILENCE_MS });
  onTestFinished(() => redis.disconnect());
  await redis.connect();
  process.kill(server.pid, 'SIGSTOP');
  for (const _ of [1, 2, 3]) {
    const startedAt = performance.now();
    await expect(redis.ping()).rejects.toThrow('Command timed out');
    expect(performance.now() - startedAt).toBeGreaterThan(SILENCE_MS / 2);
  }
  process.kill(server.pid, 'SIGCONT');
  await expect.poll(() => redis.echo('back').catch(() => undefined), { timeout: 60_000 }).toBe('back');
});
