import { expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { openSuiteStore } from './open-redis.ts';
import { acceptAndClaim, claimHead, newConversation, turnFor } from './samples.ts';

const { redis, keyspace, store } = openSuiteStore();
const completed = { state: 'completed', answerSeq: 1 } as const;

/** Removes the keys of a conversation as a loss of data does, without the mark of an erase. */
async function lose(conversation: ConversationRef): Promise<void> {
  await redis.unlink(...Object.values(keyspace.conversation(conversation)).slice(0, 8));
}

test('the owner of a turn whose conversation Redis has lost gets the reply unclaimed', async () => {
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(store, conversation, 'turn.1');
  await lose(conversation);
  expect(await store.heartbeat(lease)).toEqual({ status: 'unclaimed' });
  expect(await store.settle(lease, completed, 'w')).toEqual({ status: 'unclaimed' });
});

test('the owner of a turn gets the reply unclaimed if an older record of the conversation came back', async () => {
  const conversation = newConversation();
  await store.accept(turnFor(conversation, 'turn.1'));
  const older = await redis.hgetall(keyspace.key(conversation, 'c'));
  const { lease } = await claimHead(store, conversation);
  // The claim moved the input of the turn into the log.
  await redis.unlink(keyspace.key(conversation, 'c'), keyspace.key(conversation, 'log'));
  await redis.hset(keyspace.key(conversation, 'c'), older);
  expect(await store.heartbeat(lease)).toEqual({ status: 'unclaimed' });
});

test('the former owner of an erased turn gets the reply gone, also after the conversation was created again', async () => {
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(store, conversation, 'turn.1');
  await store.erase(conversation);
  expect(await store.heartbeat(lease)).toEqual({ status: 'gone' });
  await store.accept(turnFor(conversation, 'turn.1'));
  expect(await store.heartbeat(lease)).toEqual({ status: 'gone' });
});
