import { Redis } from 'ioredis';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { LOST_AFTER_MS } from '../../src/domain/lease.ts';
import {
  type AgentFinder,
  connectionName,
  listWorkers,
  openPresence,
  type PresenceStore,
  type WorkerPresence,
} from '../../src/store/presence.ts';
import { openConnection } from '../../src/store/redis/connection.ts';
import { openMemoryPresenceStore } from './memory-presence-store.ts';
import { openSuiteRedis } from './open-redis.ts';

const nameWorker = (worker: string): WorkerPresence => ({
  worker,
  roles: ['turn', 'compaction'],
  startedAt: Date.now() - 60_000,
});

interface Crew {
  /** Opens the store of a worker, with a connection of the worker's own. */
  readonly hire: (worker: string) => PresenceStore & AgentFinder;
  /** Makes the last renewal of a worker so old. */
  readonly age: (worker: string, ms: number) => Promise<void>;
  readonly disconnect: (worker: string) => Promise<void>;
}

function openMemoryCrew(): Crew {
  let now = 1_000_000;
  const store = openMemoryPresenceStore({ now: () => now });
  return {
    hire: () => store,
    age: async (worker, ms) => {
      const silent = await store.findSilent();
      expect(silent.map((one) => one.worker)).not.toContain(worker);
      now += ms;
    },
    disconnect: async (worker) => store.disconnect(worker),
  };
}

function openRedisCrew() {
  const { redis, keyspace, close } = openSuiteRedis();
  const prefix = keyspace.shardPrefix(keyspace.firstShard);
  keyspace.workers = () => `${prefix}workers`;
  keyspace.missingAgents = () => `${prefix}missing`;
  keyspace.worker = (worker) => `${prefix}worker:${worker}`;
  const connections = new Map<string, Redis>();
  onTestFinished(async () => {
    for (const connection of connections.values()) connection.disconnect();
    await close();
  });
  const connect = (worker: string): Redis => {
    const connection = openConnection({ url: inject('redisUrl'), name: connectionName(worker) });
    connections.set(worker, connection);
    return connection;
  };
  return {
    redis,
    keyspace,
    connect,
    hire: (worker: string) => openPresence(connect(worker), keyspace, worker),
    age: async (worker: string, ms: number) => {
      if (ms >= LOST_AFTER_MS) await redis.del(keyspace.worker(worker));
      else await redis.pexpire(keyspace.worker(worker), LOST_AFTER_MS - ms);
    },
    disconnect: async (worker: string) => {
      const connection = connections.get(worker);
      const id = await connection?.client('ID');
      connection?.disconnect();
      const list = async (): Promise<unknown> => redis.call('CLIENT', 'LIST', 'ID', String(id));
      await vi.waitFor(async () => expect(await list()).toBe(''), 60_000);
    },
  };
}

const crews: Record<string, () => Crew> = { memory: openMemoryCrew, Redis: openRedisCrew };

describe.each(Object.entries(crews))('the presence of workers in %s', (_, open) => {
  it('findSilent returns a worker whose connection has ended and whose key is stale, until a caller removes the worker', async () => {
    const { hire, age, disconnect } = open();
    const [one, killed] = [hire('one'), hire('killed')];
    await killed.renewPresence(nameWorker('killed'));
    await disconnect('killed');
    await age('killed', 0);
    expect(await one.findSilent(), 'not stale yet').toEqual([]);
    await age('killed', 1_500);
    await one.renewPresence(nameWorker('one'));
    expect(await one.findSilent()).toMatchObject([{ worker: 'killed', roles: ['turn', 'compaction'], state: 'gone' }]);
    expect(await Promise.all([one.removeSilent('killed'), one.removeSilent('killed')])).toEqual([true, false]);
    expect(await one.findSilent()).toEqual([]);
  });

  it('findSilent does not return a connected worker that is frozen, until the worker counts as lost', async () => {
    const { hire, age } = open();
    const [one, frozen] = [hire('one'), hire('frozen')];
    await frozen.renewPresence(nameWorker('frozen'));
    await age('frozen', LOST_AFTER_MS - 1_000);
    await one.renewPresence(nameWorker('one'));
    expect(await one.findSilent()).toEqual([]);
    await age('frozen', LOST_AFTER_MS);
    await one.renewPresence(nameWorker('one'));
    expect(await one.findSilent()).toMatchObject([{ worker: 'frozen', state: 'lost' }]);
    expect(await one.removeSilent('frozen')).toBe(true);
  });

  it('findAgent finds an agent while a worker has it, and otherwise returns how long the agent has been missing', async () => {
    const { hire } = open();
    const [one, two] = [hire('one'), hire('two')];
    await one.renewPresence({ ...nameWorker('one'), agents: ['a', 'a.b'] });
    expect(await one.findAgent('a.b', 'turn')).toEqual({ status: 'served' });
    expect(await one.findAgent('b', 'turn')).toMatchObject({ status: 'missing' });
    expect(await two.findAgent('b', 'turn')).toMatchObject({ status: 'missing', forMs: expect.any(Number) as number });
    await two.renewPresence({ ...nameWorker('two'), agents: ['b'] });
    expect(await one.findAgent('b', 'turn')).toEqual({ status: 'served' });
    await two.endPresence('two');
    expect(await one.findAgent('b', 'turn')).toMatchObject({ status: 'missing' });
  });

  it('findAgent finds an agent only in a worker of the requested role', async () => {
    const { hire } = open();
    const [one, two] = [hire('one'), hire('two')];
    await one.renewPresence({ ...nameWorker('one'), roles: ['compaction', 'summarization'], agents: ['a'] });
    expect(await one.findAgent('a', 'compaction')).toEqual({ status: 'served' });
    expect(await one.findAgent('a', 'turn')).toMatchObject({ status: 'missing' });
    await two.renewPresence({ ...nameWorker('two'), roles: ['turn'], agents: ['a'] });
    expect(await one.findAgent('a', 'turn')).toEqual({ status: 'served' });
  });

  it('findAgent assumes that a worker of an earlier release, which lists no agents, may have any agent', async () => {
    const { hire } = open();
    const old = hire('old');
    await old.renewPresence(nameWorker('old'));
    expect(await old.findAgent('any', 'turn')).toEqual({ status: 'served' });
  });

  it('removeSilent does not remove a worker that has renewed its key', async () => {
    const { hire, age, disconnect } = open();
    const [one, late] = [hire('one'), hire('late')];
    await late.renewPresence(nameWorker('late'));
    await age('late', 1_500);
    await hire('late').renewPresence(nameWorker('late'));
    expect(await one.removeSilent('late')).toBe(false);
    await disconnect('late');
    await age('late', 0);
    expect(await one.findSilent()).toEqual([]);
  });

  it('a worker that removeSilent removed by mistake is found again after its next renewal', async () => {
    const { hire, age } = open();
    const [one, late] = [hire('one'), hire('late')];
    await late.renewPresence(nameWorker('late'));
    await age('late', 1_500);
    expect(await one.removeSilent('late')).toBe(true);
    await late.renewPresence(nameWorker('late'));
    await age('late', LOST_AFTER_MS);
    expect(await one.findSilent()).toMatchObject([{ worker: 'late', state: 'lost' }]);
  });

  it('findSilent does not return a worker that has stopped', async () => {
    const { hire, age, disconnect } = open();
    const [one, stopped] = [hire('one'), hire('stopped')];
    await stopped.renewPresence(nameWorker('stopped'));
    await stopped.endPresence('stopped');
    await disconnect('stopped');
    await age('stopped', LOST_AFTER_MS);
    expect(await one.findSilent()).toEqual([]);
  });
});

describe('the presence of workers in Redis', () => {
  it('renewPresence reports a new connection, and writes its id', async () => {
    const crew = openRedisCrew();
    const connection = crew.connect('one');
    const store = openPresence(connection, crew.keyspace, 'one');
    const idOf = async (): Promise<string | null> => crew.redis.get(crew.keyspace.worker('one'));
    expect(await store.renewPresence(nameWorker('one'))).toBe(true);
    expect(await store.renewPresence(nameWorker('one'))).toBe(false);
    expect(await idOf()).toBe(String(await connection.client('ID')));
    await crew.redis.pexpire(crew.keyspace.worker('one'), LOST_AFTER_MS / 2);
    await crew.redis.call('CLIENT', 'KILL', 'ID', String(await idOf()));
    const restOf = async (): Promise<number> => await crew.redis.pttl(crew.keyspace.worker('one'));
    await vi.waitFor(
      async () => expect(await restOf(), 'before its next renewal').toBeGreaterThan(LOST_AFTER_MS / 2),
      60_000,
    );
    await vi.waitFor(async () => expect(await store.renewPresence(nameWorker('one'))).toBe(true), 60_000);
    expect(await idOf()).toBe(String(await connection.client('ID')));
  });

  it('findSilent returns a worker whose connection id now belongs to another connection', async () => {
    const crew = openRedisCrew();
    const [one, other] = [crew.hire('one'), crew.hire('other')];
    await other.renewPresence(nameWorker('other'));
    const id = await crew.redis.client('ID');
    await crew.redis.set(crew.keyspace.worker('other'), id, 'PX', LOST_AFTER_MS - 1_500);
    expect(await one.findSilent()).toMatchObject([{ worker: 'other', state: 'gone' }]);
  });

  it.each([
    ['an ACL forbids CLIENT', ['-client|list', '-client|id']],
    ['an ACL forbids CLIENT LIST', ['-client|list']],
  ])('if %s, a worker has no connection id, and counts as silent only after it counts as lost', async (_why, rules) => {
    const crew = openRedisCrew();
    await crew.redis.call('ACL', 'SETUSER', 'no-client', 'on', 'nopass', '~*', '&*', '+@all', ...rules);
    onTestFinished(async () => {
      const redis = new Redis(inject('redisUrl'));
      await redis.call('ACL', 'DELUSER', 'no-client');
      await redis.quit();
    });
    const url = new URL(inject('redisUrl'));
    url.username = 'no-client';
    url.password = 'any';
    const connection = openConnection({ url: url.href, name: connectionName('one') });
    onTestFinished(() => connection.disconnect());
    const store = openPresence(connection, crew.keyspace, 'one');
    await store.renewPresence(nameWorker('one'));
    expect(await crew.redis.get(crew.keyspace.worker('one'))).toBe('');
    await crew.age('one', LOST_AFTER_MS - 1_000);
    expect(await crew.hire('two').findSilent()).toEqual([]);
    expect(await store.findSilent()).toEqual([]);
    await crew.age('one', LOST_AFTER_MS);
    expect(await store.findSilent()).toMatchObject([{ worker: 'one', state: 'lost' }]);
  });

  it('listWorkers lists workers by the time of their last renewal', async () => {
    const crew = openRedisCrew();
    for (const worker of ['a', 'b', 'c']) await crew.hire(worker).renewPresence(nameWorker(worker));
    await crew.age('b', 5_000);
    await crew.age('a', LOST_AFTER_MS);
    const now = 1_000_000_000;
    const listed = await listWorkers(crew.redis, crew.keyspace, now);
    expect(listed.map(({ worker }) => worker)).toEqual(['c', 'b', 'a']);
    expect(now - (listed[2]?.seenAt ?? 0)).toBeGreaterThan(LOST_AFTER_MS);
    expect(now - (listed[1]?.seenAt ?? 0)).toBeGreaterThanOrEqual(5_000);
  });
});
