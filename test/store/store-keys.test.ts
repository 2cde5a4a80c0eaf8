import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { PASS_LIMITS } from '../../src/domain/pass.ts';
import { eraseScript, expireScript } from '../../src/store/erase.ts';
import { idleMember } from '../../src/store/keys.ts';
import { scriptBinder } from '../../src/store/script.ts';
import { openSuiteStore, readKeys } from './open-redis.ts';
import {
  appendOf,
  claimPass,
  claimSummary,
  commitOf,
  makeConversation,
  summaryOf,
  waitForPass,
} from './pass-samples.ts';
import { acceptAndClaim, newConversation, turnFor } from './samples.ts';

const DAY_MS = 86_400_000;
const { redis, keyspace, store } = openSuiteStore();

async function readyOf(conversation: ConversationRef): Promise<string[]> {
  const members = await redis.zrange(keyspace.ready(keyspace.shardOf(conversation)), 0, '-1');
  return members.filter((member) => member.includes(conversation.id));
}

async function dueOf(conversation: ConversationRef): Promise<string[]> {
  const shard = keyspace.shardOf(conversation);
  await redis.unlink(keyspace.sweep(shard));
  const { due } = await store.sweepShards([shard], 100);
  await redis.unlink(keyspace.sweep(shard));
  return due.filter((entry) => entry.conversation.id === conversation.id).map(({ kind }) => kind);
}

/** Returns the TTL of a key in whole minutes, because no test takes a minute. */
async function readTtl(key: string): Promise<number> {
  return Math.ceil((await redis.pttl(key)) / 60_000) * 60_000;
}

/** Creates a conversation with a key of every kind. */
async function fillConversation(): Promise<ConversationRef> {
  const conversation = await makeConversation(store, 4);
  const lease = await claimSummary(store, conversation, 'f'.repeat(64));
  await store.recordPart(lease, 'f'.repeat(32), 'text');
  await store.recordSummary(lease, { status: 'refused', why: 'empty' });
  await store.commitVersion((await claimPass(store, conversation)).lease, commitOf(0, 2));
  await waitForPass(store, conversation, 't1');
  await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
  return conversation;
}

describe('lifetimes of Redis keys', () => {
  test('Redis keeps summaries and their parts for a week, refused summaries for a day and claims on summaries for eight seconds', async () => {
    const conversation = await makeConversation(store);
    const { summary } = summaryOf(2);
    const weight = { tokens: 1, bytes: 1 };
    const lease = await claimSummary(store, conversation, 'accepted');
    await store.recordPart(lease, 'part', 'text');
    await store.recordSummary(lease, { status: 'accepted', summary, weight });
    await store.recordSummary(await claimSummary(store, conversation, 'refused'), { status: 'refused', why: 'w' });
    await claimSummary(store, conversation, 'claimed');
    const ttl = await redis.pttl(keyspace.summary(conversation, 'claimed'));
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(PASS_LIMITS.summaryClaimMs);
    expect(await readTtl(keyspace.summary(conversation, 'accepted'))).toBe(PASS_LIMITS.summaryTtlMs);
    expect(await readTtl(keyspace.summary(conversation, 'part:part'))).toBe(PASS_LIMITS.summaryTtlMs);
    expect(await readTtl(keyspace.summary(conversation, 'refused'))).toBe(PASS_LIMITS.refusalTtlMs);
  });

  test('heartbeatSummary extends the TTL of the worker’s claim on a summary', async () => {
    const conversation = await makeConversation(store);
    const key = keyspace.summary(conversation, 'h');
    await store.claimSummary(conversation, 'h', 'owner');
    await redis.pexpire(key, 1_000);
    await store.heartbeatSummary(conversation, 'h', 'owner');
    expect(await redis.pttl(key)).toBeGreaterThan(1_000);
  });

  test('the log, the context versions and the texts of a conversation have no TTL', async () => {
    const conversation = await fillConversation();
    for (const kind of ['c', 'log', 'ver', 'txt', 'mb', 'ix', 'pass'] as const) {
      expect(await redis.pttl(keyspace.key(conversation, kind)), kind).toBe(-1);
    }
  });

  test('Redis keeps replies to operations and the key that marks an erase for a day', async () => {
    const conversation = newConversation();
    const request = appendOf(conversation, 0, 1);
    await store.append(request);
    expect(await readTtl(`${keyspace.conversation(conversation).operationPrefix}${request.operation}`)).toBe(DAY_MS);
    await store.erase(conversation);
    expect(await readTtl(keyspace.key(conversation, 'gone'))).toBe(DAY_MS);
  });

  test('the list of a conversation’s keys drops the names of summaries that have expired', async () => {
    const conversation = await makeConversation(store);
    const hashes = Array.from({ length: 40 }, () => randomUUID());
    for (const hash of hashes) await store.claimSummary(conversation, hash, 'owner');
    await redis.unlink(...hashes.map((hash) => keyspace.summary(conversation, hash)));
    for (let claims = 0; claims < 400; claims += 1) {
      await store.claimSummary(conversation, 'h', 'owner');
      await store.releaseSummary(conversation, 'h', 'owner');
    }
    expect(await redis.hlen(keyspace.key(conversation, 'ix'))).toBeLessThan(10);
  });
});

describe('erase of a conversation in Redis', () => {
  test('an erase removes every key except the key that marks the conversation as erased', async () => {
    const conversation = await fillConversation();
    expect((await readKeys(redis, keyspace, conversation)).length).toBe(13);
    expect(await readyOf(conversation)).toHaveLength(3);
    await store.erase(conversation);
    expect(await readKeys(redis, keyspace, conversation)).toEqual([keyspace.key(conversation, 'gone')]);
    expect(await readyOf(conversation)).toEqual([]);
  });

  test('the next erase finishes an interrupted erase', async () => {
    const conversation = await fillConversation();
    await redis.set(keyspace.key(conversation, 'gone'), 0, 'PX', DAY_MS);
    await redis.unlink(keyspace.key(conversation, 'c'), keyspace.key(conversation, 'mb'));
    await store.erase(conversation);
    expect(await readKeys(redis, keyspace, conversation)).toEqual([keyspace.key(conversation, 'gone')]);
  });

  test('a sweep finishes an interrupted erase', async () => {
    const conversation = newConversation();
    for (let turn = 0; turn < 450; turn += 1) {
      await store.accept(turnFor(conversation, `t${turn}`, { maxQueuedTurns: 1_000 }));
    }
    const eraseBatch = scriptBinder(redis, keyspace)(eraseScript);
    expect(await eraseBatch(conversation, true, false)).toMatchObject({ left: 'keys' });
    const idle = keyspace.idle(keyspace.shardOf(conversation));
    expect(Number(await redis.zscore(idle, idleMember(conversation))), 'somebody looks').toBeGreaterThan(0);
    await redis.zadd(idle, 1, idleMember(conversation));
    expect(await dueOf(conversation)).toEqual(['idle']);
    // Without the key `gone`, nothing shows that the remaining keys belong to an erased conversation.
    await redis.unlink(keyspace.key(conversation, 'gone'));
    expect(await store.expire(conversation, randomUUID())).toEqual({ status: 'resumed' });
    expect(await readKeys(redis, keyspace, conversation)).toEqual([keyspace.key(conversation, 'gone')]);
    expect(await redis.zscore(idle, idleMember(conversation))).toBeNull();
  });

  test('an erase removes no key of a conversation that was created again between its batches', async () => {
    const conversation = newConversation();
    for (let turn = 0; turn < 450; turn += 1) {
      await store.accept(turnFor(conversation, `t${turn}`, { maxQueuedTurns: 1_000 }));
    }
    // Both calls use one connection, so the accept runs after the first batch of the erase and before the second.
    const [erased, accepted] = await Promise.all([
      store.erase(conversation),
      store.accept(turnFor(conversation, 'anew')),
    ]);
    expect(accepted).toMatchObject({ status: 'accepted' });
    expect(erased.removedKeys, 'what the first batch removed').toBeGreaterThan(200);
    expect(await store.readTurn(conversation, 'anew')).toMatchObject({ state: 'queued' });
    expect(await redis.hkeys(keyspace.key(conversation, 'ix'))).toEqual(['t:anew']);
    expect(await redis.exists(keyspace.key(conversation, 'gone'))).toBe(0);
    const idle = keyspace.idle(keyspace.shardOf(conversation));
    expect(await redis.zscore(idle, idleMember(conversation))).toBeNull();
  });
});

/** Settles a turn under a policy with an idle TTL. */
async function settleWithTtl(conversation: ConversationRef, conversationTtl: number): Promise<void> {
  const { lease, inputSeq } = await acceptAndClaim(store, conversation, 'last');
  await store.settle(lease, { state: 'completed', answerSeq: inputSeq, conversationTtl }, 'w');
}

describe('the expiry of an idle conversation', () => {
  const idleOf = (conversation: ConversationRef) =>
    redis.zscore(keyspace.idle(keyspace.shardOf(conversation)), idleMember(conversation));

  /** Creates a conversation with more keys than one call removes. Returns the number of its keys. */
  async function makeLarge(): Promise<{ readonly conversation: ConversationRef; readonly keys: number }> {
    const conversation = newConversation();
    await settleWithTtl(conversation, 3_600_000);
    const hashes = Array.from({ length: 2_100 }, (_, summary) => `h${summary}`);
    const refusal = { status: 'refused', why: 'empty' } as const;
    const record = async (hash: string) => store.recordSummary(await claimSummary(store, conversation, hash), refusal);
    await Promise.all(hashes.map(record));
    await redis.hset(keyspace.key(conversation, 'c'), 'ttl', '0 1');
    // All keys except the index `ix`, which lists the others.
    return { conversation, keys: (await readKeys(redis, keyspace, conversation)).length - 1 };
  }

  test('expire removes a few batches of keys per call, and the last call reports the total of removed keys', async () => {
    const { conversation, keys } = await makeLarge();
    expect(await store.expire(conversation, 'who dies then')).toEqual({ status: 'more' });
    expect(await store.readConversation(conversation)).toBeUndefined();
    expect(Number(await idleOf(conversation)), 'somebody looks').toBeGreaterThan(Date.now());
    const told = { status: 'expired', removedKeys: keys };
    expect(await store.expire(conversation, 'another')).toEqual(told);
    expect(await store.expire(conversation, 'another'), 'its reply was lost').toEqual(told);
    expect(await store.expire(conversation, 'who froze')).toEqual({ status: 'kept' });
    expect(await idleOf(conversation)).toBeNull();
  });

  test('an erase during an expiry reports the total of removed keys, and the expiry reports none', async () => {
    const { conversation, keys } = await makeLarge();
    const expire = scriptBinder(redis, keyspace)(expireScript);
    expect(await expire(conversation, 'one', false)).toEqual({ status: 'more' });
    expect(await store.erase(conversation)).toEqual({ removedKeys: keys });
    expect(await expire(conversation, 'one', false)).toEqual({ status: 'kept' });
    expect(await readKeys(redis, keyspace, conversation)).toEqual([keyspace.key(conversation, 'gone')]);
  });

  test('a conversation that is created again while it expires has no old keys', async () => {
    const { conversation } = await makeLarge();
    expect(await store.expire(conversation, 'one')).toEqual({ status: 'more' });
    await store.accept(turnFor(conversation, 'anew'));
    expect(await store.expire(conversation, 'one')).toEqual({ status: 'kept' });
    const kinds = (await readKeys(redis, keyspace, conversation)).map((key) => key.split(':')[2]);
    expect(kinds).toEqual(['c', 'ix', 'mb', 't', 'txt']);
  });

  test('an expiry leaves the key that marks the erase, and for a minute a key that names the call which removed the last batch', async () => {
    const conversation = await makeConversation(store, 4);
    await store.commitVersion((await claimPass(store, conversation)).lease, commitOf(0, 2));
    for (let summary = 0; summary < 450; summary += 1) {
      const lease = await claimSummary(store, conversation, `h${summary}`);
      await store.recordSummary(lease, { status: 'refused', why: 'empty' });
    }
    await settleWithTtl(conversation, 3_600_000);
    expect(await readyOf(conversation), 'earlier workers fail at a kind that they do not know').toEqual([]);
    await redis.hset(keyspace.key(conversation, 'c'), 'ttl', '0 1');
    expect(await store.expire(conversation, randomUUID())).toMatchObject({ status: 'expired' });
    const gone = keyspace.key(conversation, 'gone');
    expect(await readKeys(redis, keyspace, conversation)).toEqual([gone, `${gone}:expiry`]);
    expect(await readTtl(gone)).toBe(DAY_MS);
    expect(await readTtl(`${gone}:expiry`)).toBe(60_000);
    expect(await idleOf(conversation)).toBeNull();
  });

  test('expire keeps a conversation whose last log entry is younger than the idle TTL of the conversation', async () => {
    const conversation = newConversation();
    await settleWithTtl(conversation, 3_600_000);
    await redis.hset(keyspace.key(conversation, 'c'), 'ttl', '3600000 1');
    expect(await store.expire(conversation, randomUUID())).toEqual({ status: 'kept' });
    expect(Number(await idleOf(conversation))).toBeGreaterThan(Date.now() + 3_500_000);
  });
});

test('one sweepShards call returns the due entries of every shard', async () => {
  const conversations = Array.from({ length: 20 }, () => newConversation());
  for (const conversation of conversations) {
    await store.accept(turnFor(conversation, 't1'));
    await redis.zadd(keyspace.ready(keyspace.shardOf(conversation)), 1, `t|_|${conversation.id}`);
  }
  const { due } = await store.sweepShards(keyspace.shardNumbers(), 100);
  const ids = due.filter(({ kind }) => kind === 'turn').map(({ conversation }) => conversation.id);
  expect(ids).toEqual(expect.arrayContaining(conversations.map(({ id }) => id)));
});

test('one append call accepts 20,000 messages', async () => {
  const conversation = await makeConversation(store, 20_000);
  expect(await store.readConversation(conversation)).toMatchObject({ head: 20_000, turns: 10_000 });
});
