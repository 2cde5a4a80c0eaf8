import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { PASS_LIMITS } from '../../src/domain/pass.ts';
import { openStore } from '../../src/store/open-store.ts';
import { openSuiteRedis } from './open-redis.ts';
import { appendOf, checkpointOf, claimPass, commitOf, makeConversation, waitForPass } from './pass-samples.ts';
import { newConversation, turnFor } from './samples.ts';

const DAY_MS = 86_400_000;
const { redis, keyspace, close } = openSuiteRedis();
const store = openStore(redis, keyspace);
afterAll(close);

/** every key of the conversation, as Redis names them */
async function keysOf(conversation: ConversationRef): Promise<string[]> {
  const found: string[] = [];
  const match = `{tf${keyspace.shardOf(conversation)}}:*${conversation.id}*`;
  for await (const keys of redis.scanStream({ match, count: 1_000 })) found.push(...(keys as string[]));
  return found.toSorted();
}

async function readyOf(conversation: ConversationRef): Promise<string[]> {
  const members = await redis.zrange(keyspace.ready(keyspace.shardOf(conversation)), 0, '-1');
  return members.filter((member) => member.includes(conversation.id));
}

/** a key's time to live, in whole minutes: no test takes one */
async function readTtl(key: string): Promise<number> {
  return Math.ceil((await redis.pttl(key)) / 60_000) * 60_000;
}

/** a conversation with a key of every kind */
async function fillConversation(): Promise<ConversationRef> {
  const conversation = await makeConversation(store, 4);
  await store.recordSummary(conversation, 'f'.repeat(64), { status: 'refused', why: 'empty' });
  await store.recordPart(conversation, 'f'.repeat(32), 'text');
  await store.commitVersion((await claimPass(store, conversation)).lease, commitOf(0, 2));
  await waitForPass(store, conversation, 't1');
  await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
  return conversation;
}

describe('how long keys live', () => {
  test('summaries and parts of them a week, refusals a day, claims for eight seconds', async () => {
    const conversation = await makeConversation(store);
    const { checkpoint } = checkpointOf(2);
    const weight = { tokens: 1, bytes: 1 };
    await store.claimSummary(conversation, 'claimed', 'owner');
    await store.recordSummary(conversation, 'accepted', { status: 'accepted', checkpoint, weight });
    await store.recordSummary(conversation, 'refused', { status: 'refused', why: 'w' });
    await store.recordPart(conversation, 'part', 'text');
    const ttl = await redis.pttl(keyspace.summary(conversation, 'claimed'));
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(PASS_LIMITS.summaryClaimMs);
    expect(await readTtl(keyspace.summary(conversation, 'accepted'))).toBe(PASS_LIMITS.summaryTtlMs);
    expect(await readTtl(keyspace.summary(conversation, 'part:part'))).toBe(PASS_LIMITS.summaryTtlMs);
    expect(await readTtl(keyspace.summary(conversation, 'refused'))).toBe(PASS_LIMITS.refusalTtlMs);
  });

  test('a beat extends a claim', async () => {
    const conversation = await makeConversation(store);
    const key = keyspace.summary(conversation, 'h');
    await store.claimSummary(conversation, 'h', 'owner');
    await redis.pexpire(key, 1_000);
    await store.beatSummary(conversation, 'h', 'owner');
    expect(await redis.pttl(key)).toBeGreaterThan(1_000);
  });

  test('log, versions and texts never expire', async () => {
    const conversation = await fillConversation();
    for (const kind of ['c', 'log', 'ver', 'cp', 'mb', 'ix', 'pass'] as const) {
      expect(await redis.pttl(keyspace.key(conversation, kind)), kind).toBe(-1);
    }
  });

  test('an operation is known for a day, and so is that a conversation was erased', async () => {
    const conversation = newConversation();
    const request = appendOf(conversation, 0, 1);
    await store.append(request);
    expect(await readTtl(`${keyspace.conversation(conversation).at(-1)}${request.operation}`)).toBe(DAY_MS);
    await store.erase(conversation);
    expect(await readTtl(keyspace.key(conversation, 'gone'))).toBe(DAY_MS);
  });

  test('the index forgets names whose keys have expired', async () => {
    const conversation = await makeConversation(store);
    const hashes = Array.from({ length: 40 }, () => randomUUID());
    for (const hash of hashes) await store.claimSummary(conversation, hash, 'owner');
    await redis.unlink(...hashes.map((hash) => keyspace.summary(conversation, hash)));
    for (let claims = 0; claims < 400; claims += 1) {
      await store.claimSummary(conversation, 'h', 'owner');
      await store.releaseSummary(conversation, 'h', 'owner');
    }
    expect(await redis.scard(keyspace.key(conversation, 'ix'))).toBeLessThan(10);
  });
});

describe('erase', () => {
  test('leaves the mark and nothing else', async () => {
    const conversation = await fillConversation();
    expect((await keysOf(conversation)).length).toBe(13);
    expect(await readyOf(conversation)).toHaveLength(3);
    await store.erase(conversation);
    expect(await keysOf(conversation)).toEqual([keyspace.key(conversation, 'gone')]);
    expect(await readyOf(conversation)).toEqual([]);
  });

  test('one that was cut off is gone on with by the next', async () => {
    const conversation = await fillConversation();
    await redis.set(keyspace.key(conversation, 'gone'), 0, 'PX', DAY_MS);
    await redis.unlink(keyspace.key(conversation, 'c'), keyspace.key(conversation, 'mb'));
    await store.erase(conversation);
    expect(await keysOf(conversation)).toEqual([keyspace.key(conversation, 'gone')]);
  });

  test('what a conversation made anew writes is not removed by an erase from before', async () => {
    const conversation = newConversation();
    for (let turn = 0; turn < 450; turn += 1) {
      await store.accept(turnFor(conversation, `t${turn}`, { maxQueuedTurns: 1_000 }));
    }
    // Sent on one connection, the accept lands behind the first batch and before the second.
    const [erased, accepted] = await Promise.all([
      store.erase(conversation),
      store.accept(turnFor(conversation, 'anew')),
    ]);
    expect(accepted).toMatchObject({ status: 'accepted' });
    expect(erased.removedKeys, 'what the first batch removed').toBeGreaterThan(200);
    expect(await store.readTurn(conversation, 'anew')).toMatchObject({ state: 'queued' });
    expect(await redis.smembers(keyspace.key(conversation, 'ix'))).toEqual([keyspace.turn(conversation, 'anew')]);
    expect(await redis.exists(keyspace.key(conversation, 'gone'))).toBe(0);
  });
});

test('one call looks at every shard', async () => {
  const conversations = Array.from({ length: 20 }, () => newConversation());
  for (const conversation of conversations) {
    await store.accept(turnFor(conversation, 't1'));
    await redis.zadd(keyspace.ready(keyspace.shardOf(conversation)), 1, `t|_|${conversation.id}`);
  }
  const due = await store.sweepShards(keyspace.shardNumbers(), 100);
  const ids = due.filter(({ kind }) => kind === 'turn').map(({ conversation }) => conversation.id);
  expect(ids).toEqual(expect.arrayContaining(conversations.map(({ id }) => id)));
});

test('a log of 20,000 messages is appended in one call: its 80,000 arguments do not go over the stack', async () => {
  const conversation = await makeConversation(store, 20_000);
  expect(await store.readConversation(conversation)).toMatchObject({ head: 20_000, turns: 10_000 });
});
