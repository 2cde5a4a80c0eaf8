import { describe, expect, onTestFinished, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { openWakeQueue } from '../../src/jobs/bullmq/wake-queue.ts';
import { agentOf, countSteps, toolOf, words } from '../runtime/agents.ts';
import { type Figures, measureFailover } from './failover.ts';
import { hasServer, until } from './servers.ts';
import { type Node, type SixNodes, startNode, startSixNodes } from './six-nodes.ts';

/**
 * Creates an agent that calls a tool twice in every tenth turn, so that after ten turns there is something to summarize.
 */
function createLookingAgent(): Agent {
  return agentOf({
    decide: (request) => {
      const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? '';
      if (!asked.endsWith('0') || countSteps(request) >= 2) return { content: `heard ${asked}` };
      return { content: '', toolCalls: [{ name: 'look', arguments: {} }] };
    },
    tools: [toolOf('look', async () => words(400))],
    policy: { retentionWindow: 2, turnThreshold: 10 },
  });
}

/** Starts a Cluster and finds the master of the turn queue, because losing that master has the largest effect. */
async function startAndFindMaster(): Promise<SixNodes & { readonly master: Node; readonly replica: Node }> {
  const cluster = await startSixNodes();
  return { ...cluster, ...(await cluster.ownersOf('{tq0}')) };
}

async function untilPromoted(replica: Node): Promise<void> {
  await until('the replica is promoted', async () => (await replica.redis.role())[0] === 'master');
}

function print(name: string, figures: Figures): void {
  process.stdout.write(`Cluster, ${name}: ${JSON.stringify(figures)}\n`);
}

/** A call that fails fast has less than a second. If its report stayed broken, the test would reach its time limit. */
async function repeatWhileBusy<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isTurnfoldError(error, 'redis_unavailable')) throw error;
    }
  }
}

describe.skipIf(!hasServer)('a failover in a Cluster of six nodes (skipped where PATH has no server)', () => {
  test.each([
    { name: 'without durability', outcome: 'loses turns' },
    { name: 'with durability of 1 replica', outcome: 'loses none', durability: { replicas: 1, timeoutMs: 200 } },
  ])(
    'after a master of a Cluster is killed, a client $name $outcome, and each turn is settled once and in order',
    { timeout: 240_000 },
    async ({ name, durability }) => {
      const { url, master, replica, expectDeath } = await startAndFindMaster();
      // The killed server returns, because durability needs a replica. It returns after the promotion, because as an empty
      // master it would erase its replica.
      let returned: Promise<unknown> | undefined;
      const figures = await measureFailover({
        redisUrl: url,
        ...(durability && { durability }),
        agent: createLookingAgent(),
        lag: () => {
          replica.signal('SIGSTOP');
          // A replica that continues would read the data in its socket.
          void master.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
        },
        fail: () => {
          expectDeath(master);
          master.signal('SIGKILL');
          replica.signal('SIGCONT');
          returned = untilPromoted(replica).then(() => startNode(master.options));
        },
      });
      await returned;
      print(name, figures);
      expect(figures).toMatchObject({ twice: 0, outOfOrder: 0 });
      expect(figures.fannedOutPasses).toBeGreaterThan(0);
      if (durability === undefined) expect(figures.lost).toBeGreaterThan(0);
      else expect(figures.lost).toBe(0);
    },
  );

  /** A frozen master acts like a disconnected machine: its connections stay open but silent. */
  test('after a master of a Cluster freezes, each turn is settled once and in order', {
    timeout: 240_000,
  }, async () => {
    const { url, master, expectDeath } = await startAndFindMaster();
    const figures = await measureFailover({
      redisUrl: url,
      agent: createLookingAgent(),
      lag: () => undefined,
      fail: () => {
        expectDeath(master);
        master.signal('SIGSTOP');
      },
    });
    print('frozen', figures);
    expect(figures).toMatchObject({ twice: 0, outOfOrder: 0 });
  });

  /** The Cluster lists the replica for a while after its death, so the report also asks the dead replica for its clients. */
  test('the report of the queues works in a Cluster while a replica is dead', { timeout: 240_000 }, async () => {
    const { master, replica } = await startAndFindMaster();
    await until('the master lists the replica', async () => {
      const slots = (await master.redis.cluster('SLOTS')) as unknown[][];
      return slots.every((range) => range.length === 4);
    });
    // The address omits the replica, so the client has no connection to it before the report.
    const url = `redis+cluster://127.0.0.1:${master.port}`;
    const wakes = openWakeQueue({ url, shards: 2, onError: () => undefined, failsFast: true });
    onTestFinished(() => wakes.close());
    await repeatWhileBusy(() => wakes.readShardWaits());
    replica.signal('SIGKILL');
    const reports = await repeatWhileBusy(() => wakes.reportQueues());
    expect(reports).toHaveLength(6);
    expect(reports.map(({ workers }) => workers)).toEqual(reports.map(() => 0));
  });
});
