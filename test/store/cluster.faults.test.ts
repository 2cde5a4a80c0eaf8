import { type Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { forkMethods } from '../../src/api/client/forks.ts';
import type { ClientPorts } from '../../src/api/client/ports.ts';
import { type ConversationRef, nameConversation } from '../../src/domain/ids.ts';
import { LOST_AFTER_MS } from '../../src/domain/lease.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { connectionName, openPresence } from '../../src/store/presence.ts';
import { openConnection } from '../../src/store/redis/connection.ts';
import { checkEviction, readMemory } from '../../src/store/redis/server-checks.ts';
import { Subscriber } from '../../src/store/redis/subscriber.ts';
import { openStreamNotices } from '../../src/store/streams.ts';
import { describeStore, STORE_ROOMS } from './contract/store.ts';
import { countNotices } from './contract/streams.ts';
import { SuiteKeyspace, type SuiteRedis } from './open-redis.ts';
import { claimPass, commitOf, makeConversation } from './pass-samples.ts';
import { hasServer, type RedisCluster, startCluster } from './redis-cluster.ts';
import { acceptAndClaim, newConversation } from './samples.ts';
import { openRedisStoreHarness } from './store-harness.ts';

const NODES = 3;
const MEMORY_LIMIT = 1_000_000_000;
const isThere = await hasServer();

/** The server refuses a script unless all its keys are passed to it and are in one hash slot. */
describe.skipIf(!isThere)('a store in a Cluster (skipped where PATH has no redis-server or valkey-server)', () => {
  let opened: RedisCluster | undefined;
  beforeAll(async () => {
    opened = await startCluster(NODES);
  });
  afterAll(() => opened?.stop());

  /**
   * A Cluster connection has every method that a store calls. The servers stop after the tests, so no keys need to be
   * removed.
   */
  function openClusterRedis(): SuiteRedis {
    if (opened === undefined) throw new Error('used before the suite has begun');
    return { redis: opened.cluster as unknown as Redis, keyspace: new SuiteKeyspace(), close: async () => {} };
  }

  for (const room of STORE_ROOMS) describeStore(room, 'a Cluster', () => openRedisStoreHarness(openClusterRedis));

  test('a reader in a Cluster gets a notice of each batch of streamed text', async () => {
    const { redis, keyspace } = openClusterRedis();
    const subscriber = new Subscriber(redis);
    onTestFinished(() => subscriber.close());
    expect(await countNotices(openStore(redis, keyspace), openStreamNotices(subscriber, keyspace))).toEqual([
      1, 2, 3, 4,
    ]);
  });

  test('simultaneous isFollowed calls each get the answer for their own turn on every node of a Cluster', async () => {
    const { redis, keyspace } = openClusterRedis();
    const store = openStore(redis, keyspace);
    const conversations = Array.from({ length: 40 }, newConversation);
    for (const [index, conversation] of conversations.entries()) {
      await acceptAndClaim(store, conversation, 't1');
      if (index % 3 === 0) await store.followTurn(conversation, 't1');
    }
    const asked = await Promise.all(conversations.map((conversation) => store.isFollowed(conversation, 't1')));
    expect(asked).toEqual(conversations.map((_, index) => index % 3 === 0));
  });

  test('the checks of eviction policy and memory limit ask every master of a Cluster', async () => {
    const { cluster, nodes } = opened as RedisCluster;
    const redis = cluster as unknown as Redis;
    await expect(checkEviction(redis)).resolves.toBeUndefined();
    expect(await readMemory(redis)).toBeUndefined();
    const last = new Redis(nodes.at(-1) ?? '');
    onTestFinished(async () => {
      await last.config('SET', 'maxmemory-policy', 'noeviction', 'maxmemory', 0);
      last.disconnect();
    });
    await last.config('SET', 'maxmemory-policy', 'allkeys-lru', 'maxmemory', MEMORY_LIMIT);
    await expect(checkEviction(redis)).rejects.toMatchObject({ field: 'maxmemory-policy' });
    expect(await readMemory(redis)).toMatchObject({ limitBytes: MEMORY_LIMIT });
  });

  test('a fork copies a conversation to a conversation on any other node of a Cluster', async () => {
    const { redis, keyspace } = openClusterRedis();
    const store = openStore(redis, keyspace);
    const nodeOf = async (conversation: ConversationRef): Promise<number> => {
      const slot = await redis.cluster('KEYSLOT', keyspace.key(conversation, 'c'));
      return Math.floor((slot * NODES) / 16_384);
    };
    const newOn = async (node: number, make: () => Promise<ConversationRef>): Promise<ConversationRef> => {
      let made = await make();
      while ((await nodeOf(made)) !== node) made = await make();
      return made;
    };
    let id = 0;
    const ports = {
      contexts: store,
      versions: store,
      listings: store,
      now: () => 7,
      ids: {
        next: () => {
          id += 1;
          return `op.${id}`;
        },
      },
    } as Partial<ClientPorts> as ClientPorts;
    for (let at = 0; at < NODES; at += 1) {
      const source = await newOn(at, () => makeConversation(store, 8));
      await store.commitVersion((await claimPass(store, source)).lease, commitOf(0, 4));
      const original = await store.readContext(source);
      for (let to = 0; to < NODES; to += 1) {
        const fork = await newOn(to, async () => newConversation());
        expect(await forkMethods.fork(ports, nameConversation(source), nameConversation(fork))).toEqual({
          ...nameConversation(fork),
          head: 8,
        });
        const copy = await store.readContext(fork);
        expect([await nodeOf(source), await nodeOf(fork)]).toEqual([at, to]);
        expect([copy?.entries, copy?.summaries]).toEqual([original?.entries, original?.summaries]);
      }
    }
  });

  test('commands of one pass of the event loop reach each node of a Cluster in one write', async () => {
    const { nodes } = opened as RedisCluster;
    const redis = openConnection({ url: `redis+cluster://${new URL(nodes[0] ?? '').host}` });
    onTestFinished(() => redis.disconnect());
    await redis.set('{a}', 'there');
    const owner = (redis as unknown as Cluster).nodes('master').filter(({ stream }) => stream?.writable);
    const writes = owner.flatMap(({ stream }) => [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev' as '_write')]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await Promise.all(Array.from({ length: 50 }, () => redis.get('{a}')))).toEqual(Array(50).fill('there'));
    expect(writes.reduce((sum, spy) => sum + spy.mock.calls.length, 0)).toBe(1);
  });

  test('in a Cluster, a worker detects another worker whose connection to the node of its presence has ended', async () => {
    const { nodes } = opened as RedisCluster;
    const keyspace = new Keyspace(4);
    const hire = (worker: string) => {
      const redis = openConnection({
        url: `redis+cluster://${new URL(nodes[0] ?? '').host}`,
        name: connectionName(worker),
      });
      onTestFinished(() => redis.disconnect());
      return {
        redis,
        presence: { worker, roles: ['turn'], startedAt: 1 },
        store: openPresence(redis, keyspace, worker),
      };
    };
    const { redis } = openClusterRedis();
    const [one, killed] = [hire('one'), hire('killed')];
    for (const { store, presence } of [one, killed]) {
      await vi.waitFor(async () => {
        await store.renewPresence(presence);
        expect(await redis.get(keyspace.worker(presence.worker))).toMatch(/^\d+$/);
      }, 60_000);
    }
    await redis.pexpire(keyspace.worker('killed'), LOST_AFTER_MS - 1_500);
    expect(await one.store.findSilent(), 'still connected').toEqual([]);
    killed.redis.disconnect();
    await vi.waitFor(async () => {
      expect(await one.store.findSilent()).toMatchObject([{ worker: 'killed', state: 'gone' }]);
    }, 60_000);
  });
});
