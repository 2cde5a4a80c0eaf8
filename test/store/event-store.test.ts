import { expect, test } from 'vitest';
import { EVENT_LIMITS, FIRST_POSITION } from '../../src/domain/conversation-event.ts';
import { openStore } from '../../src/store/open-store.ts';
import { describeBothStores } from './contract/store.ts';
import { openSuiteRedis } from './open-redis.ts';
import { newConversation, turnFor } from './samples.ts';

describeBothStores('events');

test('Redis keeps about 500 events of a conversation, and readEvents reports missing events to a reader that fell behind', async () => {
  const { redis, keyspace, close } = openSuiteRedis();
  const store = openStore(redis, keyspace);
  const conversation = newConversation();
  const settle = async (turn: string): Promise<void> => {
    await store.accept(turnFor(conversation, turn));
    await store.cancel(conversation, turn, 'w');
  };
  await settle('first');
  const { position } = await store.readEvents({ conversation, limit: 1 });
  for (let turn = 0; turn < 700; turn += 1) await settle(`t${turn}`);
  const kept = await redis.xlen(keyspace.key(conversation, 'ev'));
  expect(kept).toBeGreaterThanOrEqual(EVENT_LIMITS.kept);
  expect(kept).toBeLessThan(EVENT_LIMITS.kept + 101);
  expect(await redis.pttl(keyspace.key(conversation, 'ev'))).toBeGreaterThan(EVENT_LIMITS.keptMs - 60_000);
  for (const after of [position, FIRST_POSITION]) {
    expect(await store.readEvents({ conversation, after, limit: 1_000 })).toMatchObject({ start: 'missing' });
  }
  await close();
});
