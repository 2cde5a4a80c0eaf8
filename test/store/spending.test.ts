import { expect, test } from 'vitest';
import { describeBothStores } from './contract/store.ts';
import { openSuiteStore } from './open-redis.ts';
import { acceptAndClaim, newConversation, textStep } from './samples.ts';

describeBothStores('spending');

const { redis, keyspace, store } = openSuiteStore();

test('a turn is settled even if the keys of its tenant’s usage and webhooks have the wrong type (I12)', async () => {
  const conversation = { ...newConversation(), tenant: 'damaged' };
  const shard = keyspace.shardOf(conversation);
  const { lease } = await acceptAndClaim(store, conversation, 't1');
  await redis.sadd(keyspace.tenantWebhooks(shard, 'damaged'), 'hook');
  await redis.set(keyspace.tenantUsage(shard, 'damaged'), 'x');
  await redis.set(keyspace.outboxPositions(shard), 'x');
  const step = { ...textStep('model.1', 1), usage: { inputTokens: 7, outputTokens: 1 } };
  const end = { state: 'completed', answerSeq: 2, step } as const;
  expect(await store.settle(lease, end, 'wake')).toMatchObject({ status: 'settled' });
  await redis.set(keyspace.tenantWebhooks(shard, 'damaged'), 'x');
  const { lease: second } = await acceptAndClaim(store, conversation, 't2');
  expect(await store.recordStep(second, { ...step, key: 'model.2', expectedHead: 3 })).toMatchObject({
    status: 'recorded',
  });
  expect(await store.settle(second, { state: 'completed', answerSeq: 4 }, 'wake')).toMatchObject({ status: 'settled' });
  expect((await store.readConversation(conversation))?.spent).toEqual({ inputTokens: 14, outputTokens: 2 });
  await redis.unlink(keyspace.outboxPositions(shard));
});
