import { describe, expect, test } from 'vitest';
import { measureFailover } from './failover.ts';
import { startSentinels } from './sentinels.ts';
import { hasServer } from './servers.ts';

describe.skipIf(!hasServer)('Sentinels (skipped where PATH has no server)', () => {
  test.each([
    { name: 'without durability', outcome: 'loses turns' },
    { name: 'with durability of 1 replica', outcome: 'loses none', durability: { replicas: 1, timeoutMs: 200 } },
  ])(
    'in a failover by Sentinels, a client $name $outcome, and each turn is settled once and in order',
    { timeout: 240_000 },
    async ({ name, durability }) => {
      const { url, master, replicas, expectDeath } = await startSentinels();
      const figures = await measureFailover({
        redisUrl: url,
        ...(durability && { durability }),
        lag: () => {
          for (const replica of replicas) replica.signal('SIGSTOP');
          // A replica that continues would read the data in its socket.
          void master.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
        },
        fail: () => {
          expectDeath();
          master.signal('SIGKILL');
          for (const replica of replicas) replica.signal('SIGCONT');
        },
      });
      process.stdout.write(`Sentinel, ${name}: ${JSON.stringify(figures)}\n`);
      expect(figures).toMatchObject({ twice: 0, outOfOrder: 0 });
      if (durability === undefined) expect(figures.lost).toBeGreaterThan(0);
      else expect(figures.lost).toBe(0);
    },
  );
});
