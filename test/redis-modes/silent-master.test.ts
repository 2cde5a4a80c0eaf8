import { describe, expect, onTestFinished, test } from 'vitest';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { runDoctorChecks } from '../../src/host/health/doctor.ts';
import type { Finding } from '../../src/host/health/finding.ts';
import { createReadiness } from '../../src/host/health/readiness.ts';
import { listWorkerChecks } from '../../src/host/health/worker-checks.ts';
import { type ConnectedStore, connectStore } from '../../src/store/connect-store.ts';
import { openInspection } from '../../src/store/inspection.ts';
import { SILENCE_MS } from '../../src/store/redis/open-redis.ts';
import { hasServer, until } from './servers.ts';
import { startSixNodes } from './six-nodes.ts';

/** Starts a Cluster in which the other masters continue after one master is lost with its third of the hash slots. */
async function startAndConnect() {
  const cluster = await startSixNodes();
  // The lost master does not own the key `{tf}:database`.
  const pairs = new Map<number, Pair>();
  for (const key of ['{tf}', 'a', 'b', 'c']) {
    const pair = await cluster.ownersOf(key);
    if (!pairs.has(pair.master.port)) pairs.set(pair.master.port, pair);
  }
  const [kept, lost, other] = [...pairs.values()] as [Pair, Pair, Pair];
  expect(pairs.size).toBe(3);
  for (const { master } of pairs.values()) await master.redis.config('SET', 'cluster-require-full-coverage', 'no');
  const store = await connectStore({ url: cluster.url, shards: 16 });
  onTestFinished(() => store.close());
  expect(await ping(store)).toBe('answered');
  await expect.poll(() => checkRedis(store), SOON).toMatchObject({ state: 'ok' });
  await cluster.expectDeaths();
  const aliveUrl = `redis+cluster://${[kept, other].map(({ master }) => `127.0.0.1:${master.port}`).join(',')}`;
  return { store, lost, kept, other, aliveUrl, node: `127.0.0.1:${lost.master.port}` };
}

type Pair = Awaited<ReturnType<Awaited<ReturnType<typeof startSixNodes>>['ownersOf']>>;

async function checkRedis({ checkServer }: ConnectedStore): Promise<unknown> {
  const checks = listWorkerChecks({
    checkServer,
    databaseChecks: { readLoss: async () => undefined },
    wakes: { readShardWaits: async () => [] },
    workers: { isRunning: () => true, intakes: [] },
    loop: { worstMs: 0 },
    stuckMs: 60_000,
  });
  const [redis] = await createReadiness(
    checks.filter(({ name }) => name === 'redis'),
    10_000,
  )();
  return redis;
}

const ping = async ({ measures }: ConnectedStore): Promise<unknown> =>
  await measures.ping().then(
    () => 'answered',
    (error: unknown) => (isTurnfoldError(error) ? `${error.code} ${error.message}` : error),
  );

async function expectMissing({ store, node }: Awaited<ReturnType<typeof startAndConnect>>): Promise<void> {
  expect(await checkRedis(store)).toMatchObject({ state: 'wrong', what: expect.stringContaining(node) });
  expect(await ping(store)).toBe(`redis_unavailable Redis does not answer: ${node}`);
}

const SOON = { timeout: 60_000 };

const runDoctor = (url: string): Promise<Finding[]> =>
  runDoctorChecks({
    source: { env: { REDIS_URL: url, TURNFOLD_METRICS_PORT: '0' }, readFile: () => '' },
    asksProviders: false,
    explain: async (error) => error,
  });

/** ioredis checks a new connection at a random master. Several connections make it likely that one would ask the lost master. */
async function expectConnected(url: string): Promise<void> {
  const connections = await Promise.all(Array.from({ length: 10 }, () => openInspection({ url })));
  for (const connection of connections) connection.close();
}

describe.skipIf(!hasServer)('a Cluster that has lost a master and its replica', () => {
  test('ping, readiness check and turnfold doctor report the address of a dead master of a Cluster', {
    timeout: 240_000,
  }, async () => {
    const cluster = await startAndConnect();
    const { lost, kept, aliveUrl, node } = cluster;
    lost.replica.signal('SIGKILL');
    lost.master.signal('SIGKILL');
    await expectMissing(cluster);
    // The other nodes still list its slots.
    await until('the other nodes have noticed', async () =>
      /master,fail /.test(String(await kept.master.redis.cluster('NODES'))),
    );
    await expectMissing(cluster);
    await expectConnected(aliveUrl);

    const findings = await runDoctor(aliveUrl);
    const missing = { name: 'redis', state: 'wrong', what: expect.stringContaining(node) };
    expect(findings).toContainEqual(expect.objectContaining(missing));
    expect(findings).toContainEqual(expect.objectContaining({ name: 'redis', state: 'ok' }));
  });

  test('a new connection reports how many hash slots have no master after the Cluster has forgotten a dead master', {
    timeout: 240_000,
  }, async () => {
    const { store, lost, kept, other, aliveUrl, node } = await startAndConnect();
    lost.replica.signal('SIGKILL');
    lost.master.signal('SIGKILL');
    const alive = [kept, other].flatMap(({ master, replica }) => [master, replica]);
    const nodes = String(await kept.master.redis.cluster('NODES')).split('\n');
    const gone = [lost.master, lost.replica].map(({ port }) => nodes.find((line) => line.includes(`:${port}@`)) ?? '');
    for (const { redis } of alive) {
      for (const line of gone) await redis.call('CLUSTER', 'FORGET', line.split(' ')[0] ?? '');
    }
    expect(await kept.master.redis.cluster('INFO')).toMatch(/cluster_slots_assigned:1092[23]\r/);
    // A connection that was opened before still searches for the lost master.
    expect(await ping(store)).toBe(`redis_unavailable Redis does not answer: ${node}`);

    const connection = await connectStore({ url: aliveUrl, shards: 16 });
    onTestFinished(() => connection.close());
    expect(await ping(connection)).toMatch(
      /^redis_unavailable Redis does not answer: 546[12] hash slots without a master$/,
    );
    expect(await checkRedis(connection)).toMatchObject({
      state: 'wrong',
      what: expect.stringContaining('slots without a master'),
    });
    expect(await runDoctor(aliveUrl)).toContainEqual(
      expect.objectContaining({
        name: 'redis',
        state: 'wrong',
        what: expect.stringMatching(/^546[12] hash slots without a master: no answer/),
      }),
    );
  });

  test('ping and readiness check report a frozen master of a Cluster until it answers, and meanwhile new connections open', {
    timeout: 240_000,
  }, async () => {
    const cluster = await startAndConnect();
    const { store, lost, aliveUrl } = cluster;
    lost.replica.signal('SIGSTOP');
    lost.master.signal('SIGSTOP');
    // Afterwards ioredis cuts the connection and forgets the node.
    const cutAt = Date.now() + SILENCE_MS + 1_000;
    await expectMissing(cluster);
    await expectConnected(aliveUrl);
    while (Date.now() < cutAt) await expectMissing(cluster);
    await expectMissing(cluster);
    expect(await store.measures.measureServers()).toMatchObject({ usedBytes: expect.any(Number) });

    lost.master.signal('SIGCONT');
    await until('the master answers again', async () => (await ping(store)) === 'answered');
    await expect.poll(() => checkRedis(store), SOON).toMatchObject({ state: 'ok' });
  });
});
