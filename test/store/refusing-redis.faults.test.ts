import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { runDoctorChecks } from '../../src/host/health/doctor.ts';
import type { Finding } from '../../src/host/health/finding.ts';
import { waitUntilWritable } from '../../src/host/local-redis/connection.ts';
import { connectStore } from '../../src/store/connect-store.ts';
import { hasServer, type Server, startServer, until } from '../redis-modes/servers.ts';

const SHARDS = 4;
const turn = { conversation: 'c1', agent: 'guide', input: 'x' };

async function open(args: readonly string[] = [], dir?: string) {
  const server = await startServer({ args, ...(dir !== undefined && { dir }) });
  const client = await openClient({ redisUrl: server.url, shards: SHARDS });
  const store = await connectStore({ url: server.url, shards: SHARDS });
  onTestFinished(async () => {
    await Promise.all([client.close(), store.close()]);
    await server.stop();
  });
  await store.checkServer();
  return { server, client, store, isBack: watchReturn(server) };
}

/** Tests whether a caller that waits for Redis to come back would continue now. */
function watchReturn({ url }: Server): (waitMs: number) => Promise<boolean> {
  return (waitMs) =>
    Promise.race([
      waitUntilWritable({ url }).then(() => true),
      new Promise<boolean>((resolve) => void setTimeout(resolve, waitMs, false)),
    ]);
}

async function askDoctor({ url }: Server): Promise<Finding | undefined> {
  const env = { REDIS_URL: url, TURNFOLD_METRICS_PORT: '0', TURNFOLD_SHARDS: String(SHARDS) };
  const source = { env, readFile: () => '' };
  const findings = await runDoctorChecks({ source, asksProviders: false, explain: async (error) => error });
  return findings.find(({ name }) => name === 'writes');
}

describe.skipIf(!hasServer)('a Redis that answers and refuses writes (skipped where PATH has none)', () => {
  test('writes fail as redis_unavailable while replicas are missing, and succeed afterwards', async () => {
    const { server, client, store, isBack } = await open();
    await server.redis.config('SET', 'min-replicas-to-write', 1);
    const refusal = {
      code: 'redis_unavailable',
      message: expect.stringMatching(/^Redis refuses writes: .*NOREPLICAS/),
    };
    await expect(client.enqueueTurn(turn)).rejects.toMatchObject(refusal);
    await expect(store.checkServer()).rejects.toMatchObject(refusal);
    expect(await askDoctor(server)).toMatchObject({ state: 'wrong', what: expect.stringContaining('NOREPLICAS') });
    expect(await isBack(1_500)).toBe(false);

    await server.redis.config('SET', 'min-replicas-to-write', 0);
    await store.checkServer();
    expect(await askDoctor(server)).toMatchObject({ state: 'ok' });
    expect(await isBack(10_000)).toBe(true);
    expect(await client.enqueueTurn(turn)).toMatchObject({ isNew: true });
  });

  test('writes fail as redis_unavailable while Redis cannot save to its disk', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'turnfold-no-disk-'));
    const { server, client, store } = await open(['--save', '1 1', '--dbfilename', 'dump.rdb'], dir);
    await rm(dir, { recursive: true });
    await server.redis.set('x', 1);
    await until('it cannot save', async () =>
      (await server.redis.info('persistence')).includes('rdb_last_bgsave_status:err'),
    );
    const refusal = { code: 'redis_unavailable', message: expect.stringMatching(/^Redis refuses writes: .*MISCONF/) };
    await expect(client.enqueueTurn(turn)).rejects.toMatchObject(refusal);
    await expect(store.checkServer()).rejects.toMatchObject(refusal);
  });

  test('writes fail as redis_full if the memory of Redis is full, and the client reports no outage', async () => {
    const { server, store, isBack } = await open();
    await server.redis.config('SET', 'maxmemory', 1);
    await expect(store.checkServer()).rejects.toMatchObject({ code: 'redis_full' });
    expect(await isBack(10_000)).toBe(true);
  });
});
