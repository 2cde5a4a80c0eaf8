import { expect, test } from 'vitest';
import { openSuiteStore } from './open-redis.ts';
import { claimPass, commitOf, makeConversation } from './pass-samples.ts';
import { acceptAndClaim, bring, callsStep, resultStep, textStep, toWaitFor } from './samples.ts';

const { redis, keyspace, store } = openSuiteStore();

/** Fields that a newer program may add to our records without a new schema. */
const LATER = { 'later.note': '{"list":[]}' };

test('fields that a newer program wrote are kept by every write of this program', async () => {
  const conversation = await makeConversation(store, 4);
  const record = keyspace.key(conversation, 'c');
  await redis.hset(record, LATER);
  const { lease: passLease } = await claimPass(store, conversation);
  await redis.hset(keyspace.key(conversation, 'pass'), LATER);
  expect(await store.commitVersion(passLease, commitOf(0, 2))).toEqual({ status: 'ended' });

  const claimed = await acceptAndClaim(store, conversation, 't1');
  const turn = keyspace.turn(conversation, 't1');
  await redis.hset(turn, LATER);
  const { lease } = claimed;
  const { head } = claimed.conversation;
  await store.recordStep(lease, callsStep('model-1', head, 1));
  await store.suspend(lease, { for: 'tools', step: 'model-1', waitMs: 60_000, calls: toWaitFor([`c${head + 1}_0`]) });
  await store.answerTurn({ conversation, turn: 't1', answers: bring([`c${head + 1}_0`]), wake: 'w' });
  const again = await store.claim(conversation, 'o2', 'w2');
  if (again.status !== 'claimed') throw new Error(again.status);
  await store.recordStep(again.turn.lease, resultStep(`tool-c${head + 1}_0`, `c${head + 1}_0`));
  await store.recordStep(again.turn.lease, textStep('model-2', head + 2));
  await store.settle(again.turn.lease, { state: 'completed', answerSeq: head + 3 }, 'w3');
  expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'completed' });
  for (const key of [record, turn]) expect(await redis.hgetall(key)).toMatchObject(LATER);
});

test('measureShards does not count a pass that has ended but is still in the set of open passes', async () => {
  const conversation = await makeConversation(store, 4);
  const { lease } = await claimPass(store, conversation);
  await store.commitVersion(lease, commitOf(0, 2));
  const shard = keyspace.shardOf(conversation);
  await redis.zadd(keyspace.openPasses(shard), 1_000, `p|${conversation.tenant}|${conversation.id}`);
  expect(await store.measureShards()).toMatchObject({ openPasses: 0, oldestOpenPassMs: 0 });
  expect(await redis.zcard(keyspace.openPasses(shard)), 'a measure writes nothing').toBe(1);

  await store.requestPass({ conversation, passId: 'p2', reasons: ['ratio'], wake: 'w' });
  await redis.zadd(keyspace.openPasses(shard), 1_000, `p|${conversation.tenant}|ended`);
  expect(await store.measureShards()).toMatchObject({ openPasses: 1 });
  await redis.unlink(keyspace.sweep(shard));
  await store.sweepShards([shard], 100);
  expect(await redis.zrange(keyspace.openPasses(shard), 0, '-1')).toEqual([
    `p|${conversation.tenant}|${conversation.id}`,
  ]);
});
