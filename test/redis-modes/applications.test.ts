import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import {
  APPLICATIONS,
  checkViews,
  countKeys,
  listKeys,
  listStrays,
  startApplication,
  useEverything,
  useInbox,
} from '../runtime/applications.ts';
import { hasServer, startCluster } from '../store/redis-cluster.ts';

const canStart = await hasServer();

test.skipIf(!canStart)(
  'four applications share a Cluster, each with a Redis user that cannot access the keys of the others (skipped where PATH has no server)',
  { timeout: 300_000 },
  async () => {
    const { cluster, nodes, stop } = await startCluster(3);
    onTestFinished(stop);
    const masters = nodes.map((url) => new Redis(url));
    onTestFinished(() => {
      for (const master of masters) master.disconnect();
    });
    for (const { agent, rules } of APPLICATIONS) {
      const user = [agent, 'on', '>pw', 'resetkeys', 'resetchannels', ...rules, '+@all'];
      for (const master of masters) await master.call('ACL', ['SETUSER', ...user]);
    }
    const hosts = nodes.map((url) => new URL(url).host).join(',');
    const running = [];
    for (const application of APPLICATIONS) {
      const urlOf = (user: string): string => `redis+cluster://${user}:pw@${hosts}`;
      const started = await startApplication(application, urlOf, (close) =>
        onTestFinished(async () => void (await close())),
      );
      running.push({ application, started });
    }
    await Promise.all(running.map(({ application, started }) => useEverything(application, started)));
    for (const { application, started } of running) await useInbox(application, started, cluster);
    for (const { application, started } of running) await checkViews(application, started);
    const keys = await listKeys(masters);
    expect(listStrays(keys)).toEqual([]);
    for (const { store, queues } of countKeys(keys)) expect([store > 30, queues > 5]).toEqual([true, true]);
    const slots = new Set(keys.map((key) => key.slice(0, key.indexOf('}'))));
    expect(slots.size).toBeGreaterThan(20);
  },
);
