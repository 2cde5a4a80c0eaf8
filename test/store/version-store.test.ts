import { expect, test } from 'vitest';
import { FORK_LEASE_MS } from '../../src/store/forks.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { VersionStore } from '../../src/store/versions.ts';
import { describeBothStores } from './contract/store.ts';
import { openSuiteRedis } from './open-redis.ts';
import { newConversation, turnFor } from './samples.ts';

describeBothStores('versions');

const EMPTY = {
  expectedHead: 0,
  entries: [],
  opens: [],
  closes: [],
  texts: { summaries: new Map(), byHash: new Map() },
};

async function beginFork(store: VersionStore) {
  const conversation = newConversation();
  const plan = { source: newConversation(), version: 0, head: 4 };
  await store.beginFork({ conversation, operation: 'op', agent: 'agent', plan });
  return conversation;
}

test('a fork counts as abandoned when its lease time has passed since the last copied batch', async () => {
  const { store, redis, close } = await openEmbeddedStore();
  let now = 1_000_000;
  redis.database.clock = () => now;
  const fork = await beginFork(store);
  for (const isAbandoned of [false, true]) {
    now += FORK_LEASE_MS - 1;
    await store.copyToFork(fork, 'op', EMPTY);
    now += FORK_LEASE_MS - (isAbandoned ? 0 : 1);
    expect(await store.accept(turnFor(fork, 't1'))).toEqual({ status: 'forking', isAbandoned });
  }
  close();
});

test('each copied batch renews the lease of a fork by Redis’s clock, not the worker’s', async () => {
  const { redis, keyspace, close } = openSuiteRedis();
  const store = openStore(redis, keyspace);
  const fork = await beginFork(store);
  const key = keyspace.key(fork, 'c');
  await redis.hset(key, 'forkUntil', 1);
  const readTime = async (): Promise<number> => Number((await redis.time())[0]) * 1_000;
  const before = await readTime();
  await store.copyToFork(fork, 'op', EMPTY);
  const until = Number(await redis.hget(key, 'forkUntil'));
  expect(until).toBeGreaterThanOrEqual(before + FORK_LEASE_MS);
  expect(until).toBeLessThanOrEqual((await readTime()) + 1_000 + FORK_LEASE_MS);
  await close();
});
