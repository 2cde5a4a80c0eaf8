import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import type { EventListener } from '../../src/domain/events.ts';
import type { Workers } from '../../src/host/start-workers.ts';
import { openWorkers } from './fixture.ts';
import { hasServer, type Server, startServer } from './servers.ts';

let server: Server;
const SOON = { timeout: 60_000 };
const MIB = 1_048_576;

describe.skipIf(!hasServer)('checks of a Redis server before it is used (skipped where PATH has none)', () => {
  beforeAll(async () => {
    server = await startServer({ args: ['--rename-command', 'CONFIG', 'hidden-config'] });
  });
  afterAll(() => server.stop());

  async function start(onEvent: EventListener): Promise<Workers> {
    const metrics = { host: '127.0.0.1', port: 0 };
    const workers = await openWorkers({ redisUrl: server.url, roles: ['turn'], metrics, onEvent });
    onTestFinished(async () => void (await workers.close()));
    return workers;
  }

  test.each(['allkeys-lru', 'volatile-ttl'])(
    'clients and workers refuse a Redis with the maxmemory-policy %s',
    async (policy) => {
      await server.redis.call('hidden-config', 'SET', 'maxmemory-policy', policy);
      const refusal = {
        code: 'incompatible_store',
        field: 'maxmemory-policy',
        message: expect.stringContaining('Set it to noeviction'),
        details: { found: policy, wanted: 'noeviction' },
      };
      await expect(openClient({ redisUrl: server.url, shards: 4 })).rejects.toMatchObject(refusal);
      await expect(start(() => undefined)).rejects.toMatchObject(refusal);
      await server.redis.call('hidden-config', 'SET', 'maxmemory-policy', 'noeviction');
    },
  );

  test('a worker logs one warning at its start if Redis is nearly full, and its gauge reports the used fraction of memory', async () => {
    const events: string[] = [];
    const startAnother = (): Promise<Workers> => start(({ type }) => events.push(type));
    // One of several workers measures Redis for all. The worker whose metrics page is read first becomes that worker.
    const { metricsUrl = '' } = await startAnother();
    const readGauge = async (): Promise<number | undefined> => {
      const page = await (await fetch(metricsUrl)).text();
      const value = /^turnfold_redis_memory_ratio (.+)$/m.exec(page)?.[1];
      return value === undefined ? undefined : Number(value);
    };
    expect(await readGauge()).toBeUndefined();
    await server.redis.call('hidden-config', 'SET', 'maxmemory', 100 * MIB);
    await startAnother();
    await expect.poll(readGauge, SOON).toBeLessThan(0.5);
    expect(events).not.toContain('redis_nearly_full');
    const used = Number(/^used_memory:(\d+)/m.exec(await server.redis.info('memory'))?.[1]);
    await server.redis.call('hidden-config', 'SET', 'maxmemory', Math.floor(used * 1.15));
    await startAnother();
    await expect.poll(readGauge, SOON).toBeGreaterThan(0.8);
    expect(events.filter((type) => type === 'redis_nearly_full')).toHaveLength(1);
    await server.redis.call('hidden-config', 'SET', 'maxmemory', 0);
  });

  test('the client works with a Redis user that has no permission for INFO', async () => {
    await server.redis.acl('SETUSER', 'shut', 'on', '>word', '~*', '&*', '+@all', '-info');
    const client = await openClient({
      redisUrl: server.url.replace('//', '//shut:word@'),
      shards: 4,
    });
    onTestFinished(() => client.close());
    const turn = { conversation: 'shut', agent: 'guide', input: 'look' };
    await expect(client.enqueueTurn(turn)).resolves.toMatchObject({ isNew: true });
  });
});
