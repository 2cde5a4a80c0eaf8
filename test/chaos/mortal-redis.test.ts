import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { hasRedisServer, MortalRedis } from './mortal-redis.ts';

const COUNT_DOWN = "redis.call('HINCRBY', KEYS[1], 'open', -1) return redis.call('HSET', KEYS[1], 'result', ARGV[1])";

test.skipIf(!hasRedisServer)(
  'a Redis that was killed while it wrote a script starts without the script, also at its second start (skipped where PATH has no server)',
  { timeout: 60_000 },
  async () => {
    const server = await MortalRedis.start();
    onTestFinished(() => server.stop());
    const run = async (use: (redis: Redis) => Promise<unknown>): Promise<unknown> => {
      const redis = new Redis(server.url);
      return await use(redis).finally(() => redis.disconnect());
    };
    const runScript = (redis: Redis): Promise<unknown> => redis.eval(COUNT_DOWN, 1, 'calls', 'x'.repeat(200));
    await run(async (redis) => {
      await redis.hset('calls', 'open', 1);
      await runScript(redis);
    });
    await server.kill();
    const file = join(server.folder, 'appendonlydir/appendonly.aof.1.incr.aof');
    await truncate(file, (await stat(file)).size - 100);

    await server.start();
    expect(await run((redis) => redis.hgetall('calls'))).toEqual({ open: '1' });
    await run(runScript);
    await server.kill();
    await server.start();
    expect(await run((redis) => redis.hget('calls', 'open'))).toBe('0');
  },
);
