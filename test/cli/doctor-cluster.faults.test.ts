import { expect, onTestFinished, test } from 'vitest';
import { hasServer, startCluster } from '../store/redis-cluster.ts';
import { examine, statesOf } from './examination.ts';

test.skipIf(!(await hasServer()))(
  'turnfold doctor checks every master of a Cluster (skipped if PATH has no redis-server)',
  async () => {
    const { cluster, nodes, stop } = await startCluster(3);
    onTestFinished(stop);
    const env = { REDIS_URL: `redis+cluster://${nodes.map((url) => new URL(url).host).join(',')}` };
    await Promise.all(cluster.nodes('master').map((node) => node.config('SET', 'appendonly', 'yes')));
    const well = await examine(env);
    expect(well).toMatchObject({ code: 0, state: 'warning' });
    expect(statesOf(well)).toMatchObject({ redis: 'ok', eviction: 'ok', scripts: 'ok', 'queue turn': 'ok' });
    const [master] = cluster.nodes('master');
    await master?.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const ill = await examine(env);
    expect(ill.code).toBe(1);
    const evictions = ill.checks.filter(({ name }) => name === 'eviction');
    expect(evictions.map(({ state }) => state).toSorted()).toEqual(['ok', 'ok', 'wrong']);
    const { host, port } = master?.options ?? {};
    expect(evictions.find(({ state }) => state === 'wrong')?.what).toMatch(
      `${host}:${port}: maxmemory-policy is allkeys-lru`,
    );
  },
);
