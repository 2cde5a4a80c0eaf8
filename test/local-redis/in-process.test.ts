import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';

async function start() {
  const lines: string[] = [];
  const server = await provideRedis({ sources: ['in-process'], log: (line) => lines.push(line) });
  onTestFinished(() => server.stop());
  return { server, lines };
}

test('a Redis inside this process serves clients, and logs that its data ends with the process', async () => {
  const { server, lines } = await start();
  expect(lines).toEqual([
    expect.stringMatching(/^using a Redis inside this process, .* its data ends with the process$/),
  ]);
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  expect(await redis.set('key', 'ü')).toBe('OK');
  expect(
    await redis.eval("return { redis.call('GET', KEYS[1]), #ARGV[1], cjson.encode({ a = 1.5 }) }", 1, 'key', 'ü'),
  ).toEqual(['ü', 2, '{"a":1.5}']);
  await expect(redis.eval('return undefined_name', 0)).rejects.toThrow('nonexistent global variable');
  await expect(redis.eval("return redis.call('HGET', 'key', 'field')", 0)).rejects.toThrow('WRONGTYPE');
  await server.stop();
  await server.stop();
});

test('the queue runs on a Redis inside this process: delays, repeated attempts and flows', async () => {
  const { server } = await start();
  const connection = { url: server.url, maxRetriesPerRequest: null };
  const queue = new Queue('work', { connection });
  const done: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const worker = new Worker(
    'work',
    async ({ name, attemptsMade }) => {
      if (name === 'fails' && attemptsMade < 1) throw new Error('once');
      if (done.push(name) === 3) resolve();
    },
    { connection },
  );
  onTestFinished(async () => {
    await worker.close();
    await queue.close();
  });
  await queue.add('late', {}, { delay: 50 });
  await queue.add('fails', {}, { attempts: 2 });
  await queue.add('first', {}, { priority: 1 });
  await promise;
  expect(done.toSorted()).toEqual(['fails', 'first', 'late']);
});
