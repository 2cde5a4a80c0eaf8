import { describe, expect, onTestFinished, test } from 'vitest';
import { measureFailover } from './failover.ts';
import { hasServer, type Server, startReplicated, startServer, until } from './servers.ts';

const SENTINELS = 3;
const DOWN_AFTER_MS = 1_000;

interface Sentinels {
  readonly url: string;
  readonly master: Server;
  readonly replicas: readonly Server[];
}

async function startSentinels(): Promise<Sentinels> {
  const [master, ...replicas] = (await startReplicated(2)) as [Server, ...Server[]];
  const sentinels: Server[] = [];
  onTestFinished(async () => {
    await Promise.all([...sentinels, master, ...replicas].map((server) => server.stop()));
  });
  const sentinelOf = [
    `sentinel monitor main 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds main ${DOWN_AFTER_MS}`,
    'sentinel failover-timeout main 5000',
    '',
  ].join('\n');
  for (let at = 0; at < SENTINELS; at += 1) sentinels.push(await startServer({ sentinelOf }));
  await until('the Sentinels know each other and the replicas', async () => {
    const states = await Promise.all(sentinels.map(({ redis }) => redis.call('SENTINEL', 'MASTER', 'main')));
    return states.every((state) => {
      const fields = state as string[];
      const read = (name: string): number => Number(fields[fields.indexOf(name) + 1]);
      return read('num-other-sentinels') === SENTINELS - 1 && read('num-slaves') === 2;
    });
  });
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
    master,
    replicas,
  };
}

describe.skipIf(!hasServer)('a failover by Sentinels (skipped where PATH has no server)', () => {
  test.each([
    { name: 'without a barrier' },
    { name: 'behind a barrier of 1 replica', durability: { replicas: 1, timeoutMs: 200 } },
  ])('$name', { timeout: 120_000 }, async ({ name, durability }) => {
    const { url, master, replicas } = await startSentinels();
    const figures = await measureFailover({
      redisUrl: url,
      ...(durability && { durability }),
      lag: () => {
        for (const replica of replicas) replica.signal('SIGSTOP');
        // What stands in a socket would be read by a replica that goes on.
        void master.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
      },
      fail: () => {
        master.signal('SIGKILL');
        for (const replica of replicas) replica.signal('SIGCONT');
      },
    });
    process.stdout.write(`Sentinel, ${name}: ${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject({ twice: 0, outOfOrder: 0 });
    if (durability === undefined) expect(figures.lost).toBeGreaterThan(0);
    else expect(figures.lost).toBe(0);
  });
});
