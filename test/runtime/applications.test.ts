import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { runTurnfold } from '../cli/run-turnfold.ts';
import { createTalker } from '../client/fixture.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import {
  APPLICATIONS,
  type Application,
  checkViews,
  countKeys,
  listKeys,
  listStrays,
  type RunningApplication,
  startApplication,
  useEverything,
  useInbox,
} from './applications.ts';

let server: LocalRedis;
let redis: Redis;
const running = new Map<Application, RunningApplication>();
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await provideRedis(readRedisSource());
  redis = new Redis(server.url);
  for (const { agent, rules } of APPLICATIONS) {
    await redis.call('ACL', ['SETUSER', agent, 'on', '>pw', 'resetkeys', 'resetchannels', ...rules, '+@all']);
  }
}, 120_000);

afterAll(async () => {
  for (const close of closers.toReversed()) await close();
  await redis.quit();
  await server.stop();
});

function addressFor(user: string): string {
  const url = new URL(server.url);
  [url.username, url.password] = [user, 'pw'];
  return url.href;
}

function runningOf(application: Application): RunningApplication {
  const found = running.get(application);
  if (found === undefined) throw new Error('the application did not start');
  return found;
}

test('four applications share a Redis, each with a Redis user that cannot access the keys of the others', async () => {
  for (const application of APPLICATIONS) {
    running.set(application, await startApplication(application, addressFor, (close) => closers.push(close)));
  }
  await Promise.all(APPLICATIONS.map((application) => useEverything(application, runningOf(application))));
  for (const application of APPLICATIONS) await useInbox(application, runningOf(application), redis);
  for (const application of APPLICATIONS) await checkViews(application, runningOf(application));
  const keys = await listKeys([redis]);
  expect(listStrays(keys)).toEqual([]);
  for (const { store, queues } of countKeys(keys)) expect([store > 30, queues > 5]).toEqual([true, true]);
}, 180_000);

test('an erase in one application leaves the conversation with the same name in the other applications', async () => {
  const [first, ...others] = APPLICATIONS.map(runningOf);
  await first?.client.erase('c-0');
  await expect(first?.client.describe('c-0')).rejects.toMatchObject({
    code: expect.stringMatching(/^(gone|not_found)$/),
  });
  for (const other of others) expect((await other.client.describe('c-0')).head).toBeGreaterThan(4);
});

test('commands with --prefix, and with TURNFOLD_PREFIX, show only the application of that prefix', async () => {
  const env = { REDIS_URL: server.url, TURNFOLD_SHARDS: '16' };
  const show = async (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { stdout, stderr } = await runTurnfold(args, { env: { ...env, ...more } });
    return `${stdout}${stderr}`;
  };
  const listAgents = async (...run: Parameters<typeof show>): Promise<string[]> => {
    const words = new Set((await show(...run)).split(/\s+/));
    return APPLICATIONS.map(({ agent }) => agent).filter((agent) => words.has(agent));
  };
  expect(await listAgents(['conversations', '--prefix', 'shop1'])).toEqual(['agent.of.shop1']);
  expect(await listAgents(['conversations'], { TURNFOLD_PREFIX: 'shop' })).toEqual(['agent.of.shop']);
  expect(await listAgents(['conversations', '--prefix', 'shop'], { TURNFOLD_PREFIX: 'shop1' })).toEqual([
    'agent.of.shop',
  ]);
  expect(await listAgents(['conversations'])).toEqual(['plain']);
  expect(await listAgents(['keys', 'list', '--prefix', 'A_b.c-9'])).toEqual(['agent.of.A_b.c-9']);
  const doctor = await show(['doctor', '--prefix', 'shop1']);
  expect(doctor).toMatch(/turn workers +1 connected/);
  expect(await show(['doctor', '--prefix', 'nobody'])).toMatch(/database +empty/);
}, 60_000);

test('a worker fails if its Redis user lacks the rules of its prefix, and the error names these rules', async () => {
  await redis.call('ACL', ['SETUSER', 'stranger', 'on', '>pw', 'resetkeys', 'resetchannels', '~{shop/*', '+@all']);
  const to = { redisUrl: addressFor('stranger'), shards: 16, agents: [createTalker()] };
  const denied = (rules: string) => ({ code: 'redis_denied', message: expect.stringContaining(rules) });
  await expect(startWorkers({ ...to, prefix: 'shop1' })).rejects.toMatchObject(denied('SETUSER <user> ~{shop1/* '));
  await expect(startWorkers({ ...to, prefix: 'shop' })).rejects.toMatchObject(denied('+publish &{shop/*'));
  await expect(startWorkers(to)).rejects.toMatchObject(denied('SETUSER <user> ~{tf* ~{tq* '));
  await expect(openClient({ redisUrl: to.redisUrl, prefix: 'other' })).rejects.toMatchObject(denied('~{other/*.'));
});

test.each(['', 'a b', 'a/b', 'a{b', 'a}b', 'a:b', 'tf1', 'tq', '-a', 'ä', 'x'.repeat(65)])(
  'openClient refuses the prefix %j with the name of the field, and nothing is written',
  async (prefix) => {
    const refusal = { code: 'invalid_config', field: 'prefix' };
    await expect(openClient({ redisUrl: server.url, prefix })).rejects.toMatchObject(refusal);
    await expect(startWorkers({ redisUrl: server.url, prefix, agents: [createTalker()] })).rejects.toMatchObject(
      refusal,
    );
    if (prefix !== '') {
      const { code, stderr } = await runTurnfold(['conversations'], {
        env: { REDIS_URL: server.url, TURNFOLD_PREFIX: prefix },
      });
      expect([code, stderr]).toEqual([1, expect.stringContaining('TURNFOLD_PREFIX')]);
    }
    // Every key still belongs to one of the applications, whose workers write meanwhile.
    expect(listStrays(await listKeys([redis]))).toEqual([]);
  },
);
