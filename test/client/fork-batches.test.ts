import { expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { type LogEntry, NO_WEIGHT } from '../../src/domain/message.ts';
import type { ContextStore } from '../../src/store/contexts.ts';
import type { VersionStore } from '../../src/store/versions.ts';
import { claimPass, endOf } from '../store/pass-samples.ts';
import { TestDatabase } from '../store/test-database.ts';
import { createMemoryClient } from './memory-client.ts';

const MESSAGES = 450;
const TTL_MS = 1_000;
const messages = Array.from({ length: MESSAGES }, (_, at) => ({ role: 'user' as const, content: `message ${at}` }));

/** Leaves only these first entries of a log of user messages. */
function cutLog(db: TestDatabase, conversation: ConversationRef, kept: readonly LogEntry[]): void {
  const { keyspace } = db;
  const { tokens, bytes } = kept.at(-1)?.total ?? NO_WEIGHT;
  const sums = ['headTokens', tokens, 'headBytes', bytes, 'turns', kept.length];
  db.run('HSET', keyspace.key(conversation, 'c'), 'head', kept.length, ...sums);
  const lost = Array.from({ length: MESSAGES - kept.length }, (_, at) => kept.length + at + 1);
  db.run('HDEL', keyspace.key(conversation, 'log'), ...lost);
}

test('a fork that lost copied batches in a Redis failover copies them again before it accepts turns', async () => {
  const db = await TestDatabase.open();
  const { store } = db;
  const ends: number[] = [];
  const endFork: VersionStore['endFork'] = async (conversation, ...rest) => {
    const { log = [] } = (await db.find(conversation)) ?? {};
    ends.push(log.length);
    // The replica that takes over lacks the last two batches.
    if (ends.length === 1) cutLog(db, conversation, log.slice(0, 100));
    return await store.endFork(conversation, ...rest);
  };
  const client = createMemoryClient(store, { versions: { ...store, endFork } });
  await client.append({ conversation: 'source', agent: 'guide', messages });
  expect(await client.fork('source', 'copy')).toEqual({ tenant: '_', conversation: 'copy', head: MESSAGES });
  expect(ends).toEqual([MESSAGES, MESSAGES]);
  expect(await client.log('copy')).toEqual(await client.log('source'));
});

test('fork does not let the source conversation expire during the copy, even if its idle TTL is shorter', async () => {
  const db = await TestDatabase.open();
  const { store } = db;
  const source = { tenant: '_', id: 'source' };
  const sweeps: string[] = [];
  /** Each read of the source takes 60 % of its idle TTL and is followed by a sweep. */
  const slow = async <T>(conversation: ConversationRef, read: Promise<T>): Promise<T> => {
    const answer = await read;
    if (conversation.id !== source.id) return answer;
    db.advance(0.6 * TTL_MS);
    sweeps.push((await store.expire(source, `sweep ${sweeps.length}`)).status);
    return answer;
  };
  const contexts: ContextStore = {
    ...store,
    readLog: (conversation, ranges) => slow(conversation, store.readLog(conversation, ranges)),
    listVersions: (conversation) => slow(conversation, store.listVersions(conversation)),
  };
  const client = createMemoryClient(store, { contexts });
  await client.append({ conversation: source.id, agent: 'guide', messages });
  await store.endPass((await claimPass(store, source)).lease, endOf({ conversationTtl: TTL_MS }));
  // 90 % of the idle TTL are over when the fork begins.
  db.advance(0.9 * TTL_MS);
  expect(await client.fork(source.id, 'copy')).toEqual({ tenant: '_', conversation: 'copy', head: MESSAGES });
  expect(sweeps).toEqual(['kept', 'kept', 'kept', 'kept']);
});
