import { describe, expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { openStore } from '../../src/store/open-store.ts';
import { describeBothStores } from './contract/store.ts';
import { openSuiteStore } from './open-redis.ts';
import { acceptAndClaim, callsStep } from './samples.ts';

describeBothStores('listings');

describe('listings of the Redis store', () => {
  const { redis, keyspace, store } = openSuiteStore();

  test('listConversations ends a page without a match after about 2,000 conversations, and the next page continues there', async () => {
    const ids = Array.from({ length: 6_000 }, (_, index) => `c-${index}`);
    const adding = redis.pipeline();
    for (const id of ids) {
      const conversation = { tenant: 'many', id };
      adding.hset(keyspace.key(conversation, 'c'), 'schema', 1, 'agent', 'a');
      adding.zadd(keyspace.conversations(keyspace.shardOf(conversation)), 0, `many|${id}`);
    }
    await adding.exec();
    let [after, pages]: [ConversationRef | undefined, number] = [undefined, 0];
    do {
      const page = await store.listConversations({ state: 'failed', limit: 10, ...(after && { after }) });
      expect(page.items).toEqual([]);
      after = page.next;
      pages += 1;
    } while (after !== undefined);
    expect(pages).toBeGreaterThanOrEqual(3);
    expect(pages).toBeLessThanOrEqual(4);
    expect((await store.listConversations({ limit: 1_000 })).items).toHaveLength(1_000);
  });

  test('a list by time has the conversations of an earlier release, by their last turn or their creation', async () => {
    const tenant = 'earlier';
    const ids = Array.from({ length: 600 }, (_, index) => `e-${index}`);
    const adding = redis.pipeline();
    for (const [at, id] of ids.entries()) {
      const [conversation, shard] = [{ tenant, id }, keyspace.shardOf({ tenant, id })];
      adding.hset(keyspace.key(conversation, 'c'), 'schema', 1, 'agent', 'a', 'created', `${1_000 + at}.000001`);
      if (at % 2 === 1) adding.hset(keyspace.key(conversation, 'c'), 'last', `completed ${5_000_000 + at}`);
      adding.zadd(keyspace.conversations(shard), 0, `${tenant}|${id}`);
      adding.del(keyspace.indexed(shard));
    }
    await adding.exec();
    const fresh = openStore(redis, keyspace);
    const page = await fresh.listRecent({ tenant, limit: 1_000 });
    const expected = [...ids.keys()].toSorted((a, b) => timeOf(b) - timeOf(a)).map((at) => `e-${at}`);
    expect(page.items.map(({ conversation }) => conversation)).toEqual(expected);
    expect(page.items.at(-1)).toMatchObject({ conversation: 'e-0', createdAt: 1_000_000, lastAt: 1_000_000 });
    expect(page.next).toBeUndefined();

    function timeOf(at: number): number {
      return at % 2 === 1 ? 5_000_000 + at : 1_000_000 + at * 1_000;
    }
  });

  test.each<[string, (conversation: ConversationRef) => Promise<unknown>]>([
    ['an erase', (conversation) => store.erase(conversation)],
    [
      'the end of its idle TTL',
      async (conversation) => {
        await redis.hset(keyspace.key(conversation, 'c'), 'ttl', '0 1');
        await redis.del(keyspace.key(conversation, 'mb'));
        await store.expire(conversation, 'owner');
      },
    ],
  ])('%s removes the conversation’s name from all Redis sets that the listings read', async (_, end) => {
    const conversation = { tenant: 'ended', id: 'c' };
    const shard = keyspace.shardOf(conversation);
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, callsStep('model-1', 1, 1));
    const call = { id: 'c2_0', name: 'read', arguments: '{}', waitMs: 60_000 };
    await store.suspend(lease, { for: 'approval', step: 'model-1', waitMs: 60_000, calls: [call] });
    const count = async (): Promise<number[]> =>
      await Promise.all(
        [keyspace.conversations(shard), keyspace.waiting(shard), keyspace.recent(shard, 'ended')].map(
          async (set) => await redis.zcard(set),
        ),
      );
    const before = await count();
    expect(before).not.toContain(0);
    await redis.hset(keyspace.key(conversation, 'log'), '2', '1 1 1 1 1 t1\n{}');
    await end(conversation);
    expect(await count()).toEqual(before.map((entries) => entries - 1));
  });

  test('listWaiting ends a page early if the arguments of the tool calls are large', async () => {
    const large = JSON.stringify({ text: 'x'.repeat(700_000) });
    for (const id of ['w-1', 'w-2', 'w-3']) {
      const { lease, conversation } = await acceptAndClaim(store, { tenant: 'large', id }, 't1');
      await store.recordStep(lease, callsStep('model-1', conversation.head, 1));
      const call = { id: 'c2_0', name: 'read', arguments: large, waitMs: 60_000 };
      await store.suspend(lease, { for: 'approval', step: 'model-1', waitMs: 60_000, calls: [call] });
    }
    const found: string[] = [];
    let after: Awaited<ReturnType<typeof store.listWaiting>>['next'];
    do {
      const page = await store.listWaiting({ tenant: 'large', limit: 100, ...(after && { after }) });
      found.push(...page.items.map(({ conversation }) => conversation));
      expect(page.items[0]?.waiting.calls[0]?.arguments).toBe(large);
      after = page.next;
    } while (after !== undefined);
    expect(found.toSorted()).toEqual(['w-1', 'w-2', 'w-3']);
  });

  test('the event of a turn that starts to wait has long tool arguments shortened, and marks them as shortened', async () => {
    const conversation = { tenant: 'large', id: 'told' };
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, callsStep('model-1', 1, 1));
    const call = { id: 'c2_0', name: 'read', arguments: 'x'.repeat(10_000), waitMs: 60_000 };
    await store.suspend(lease, { for: 'approval', step: 'model-1', waitMs: 60_000, calls: [call] });
    const { events } = await store.readEvents({ conversation, after: '0-0', limit: 10 });
    expect(events).toMatchObject([
      { type: 'turn_waiting', calls: [{ id: 'c2_0', arguments: 'x'.repeat(4_000), isCut: true }] },
    ]);
    expect((await store.readTurn(conversation, 't1'))?.waiting?.calls[0]?.arguments).toHaveLength(10_000);
  });
});
