import { expect, it, onTestFinished } from 'vitest';
import { agentOf } from './agents.ts';
import { eventsOf, openFixture, SHARDS } from './fixture.ts';

const PATIENT = { timeout: 60_000 };

it('workers inside a program stop by themselves if Redis comes back with a database of a newer schema', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const { redis } = fixture;
  const workers = await fixture.startWorkers(agentOf(), { metricsPort: 0 });
  const isServing = async (): Promise<boolean> =>
    (await fetch(`${workers.metricsUrl}`).catch(() => undefined)) !== undefined;
  expect(await isServing()).toBe(true);
  await redis.flushall();
  const newer = { schema: '99', shards: String(SHARDS), id: 'other', counter: '0' };
  await redis.hset('{tf}:database', newer);
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await expect.poll(isServing, PATIENT).toBe(false);
  const codes = eventsOf(workers, 'worker_failed').map(({ error }) => (error as { code?: string }).code);
  expect(codes).toContain('incompatible_store');
  expect(await redis.hgetall('{tf}:database')).toEqual(newer);
});
