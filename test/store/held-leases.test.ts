import { expect, test } from 'vitest';
import { type ConversationRef, ownerPrefix } from '../../src/domain/ids.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { openHeldLeases } from '../../src/store/held-leases.ts';
import { openSuiteStore } from './open-redis.ts';
import { newConversation, turnFor } from './samples.ts';

const { redis, keyspace, store } = openSuiteStore();

function hold(worker: string, owner?: string) {
  return openHeldLeases(redis, keyspace, { worker, owner });
}

async function claim(owner: string) {
  const conversation = newConversation();
  await store.accept(turnFor(conversation, 'turn.1'));
  const claimed = await store.claim(conversation, owner, 'w');
  if (claimed.status !== 'claimed') throw new Error(claimed.status);
  return { conversation, lease: claimed.turn.lease };
}

/** Moves the end of a lease, in the record and in the list of the sweeper. */
async function endLease(conversation: ConversationRef, inMs: number): Promise<void> {
  const [seconds] = await redis.time();
  const until = Number(seconds) * 1_000 + inMs;
  const ready = keyspace.ready(keyspace.shardOf(conversation));
  await redis.hset(keyspace.key(conversation, 'c'), 'lease', until);
  await redis.zadd(ready, until, `t|${conversation.tenant}|${conversation.id}`);
}

async function readLease(conversation: ConversationRef) {
  const ready = keyspace.ready(keyspace.shardOf(conversation));
  const [seconds] = await redis.time();
  const lease = Number(await redis.hget(keyspace.key(conversation, 'c'), 'lease'));
  const listed = Number(await redis.zscore(ready, `t|${conversation.tenant}|${conversation.id}`));
  return { leftMs: lease - Number(seconds) * 1_000, isListedThen: lease === listed };
}

const LONG = TURN_LIMITS.leaseMs - 1_500;

test('a worker extends its own leases, even a lapsed lease, and no lease of another worker', async () => {
  const [mine, lapsed, other] = await Promise.all(['a', 'a', 'b'].map((name) => claim(`${ownerPrefix(`w-${name}`)}1`)));
  if (mine === undefined || lapsed === undefined || other === undefined) throw new Error('three claims');
  await endLease(mine.conversation, 2_000);
  await endLease(lapsed.conversation, -1_000);
  await endLease(other.conversation, 2_000);
  await hold('w-a').extend();
  for (const { conversation } of [mine, lapsed]) {
    const { leftMs, isListedThen } = await readLease(conversation);
    expect(leftMs).toBeGreaterThan(LONG);
    expect(isListedThen).toBe(true);
  }
  expect((await readLease(other.conversation)).leftMs).toBeLessThanOrEqual(2_000);
  expect(await store.heartbeat(lapsed.lease)).toEqual({ status: 'renewed' });
});

test('a worker does not extend the lapsed lease of a turn that another worker has claimed', async () => {
  const { conversation, lease } = await claim(`${ownerPrefix('w-c')}1`);
  await endLease(conversation, -1_000);
  const next = await store.claim(conversation, `${ownerPrefix('w-d')}1`, 'w2');
  expect(next.status).toBe('claimed');
  await endLease(conversation, 2_000);
  await hold('w-c').extend();
  expect((await readLease(conversation)).leftMs).toBeLessThanOrEqual(2_000);
  expect(await store.heartbeat(lease)).toEqual({ status: 'fenced' });
});

test('extending leases for one owner extends only the lease of that owner', async () => {
  const [own, other] = [await claim(`${ownerPrefix('w-e')}1`), await claim(`${ownerPrefix('w-e')}2`)];
  await endLease(own.conversation, 2_000);
  await endLease(other.conversation, 2_000);
  await hold('w-f', own.lease.owner).extend();
  expect((await readLease(own.conversation)).leftMs).toBeGreaterThan(LONG);
  expect((await readLease(other.conversation)).leftMs).toBeLessThanOrEqual(2_000);
});

test('a worker extends its claims on summaries while their compaction pass waits', async () => {
  const { conversation } = await claim(`${ownerPrefix('w-g')}1`);
  const [mine, other] = [`${ownerPrefix('w-h')}1`, `${ownerPrefix('w-i')}1`];
  await store.requestPass({ conversation, passId: 'p1', wake: 'pw', reasons: ['hard_limit'], calibration: 1 });
  await store.claimSummary(conversation, 'hash-1', mine);
  await store.claimSummary(conversation, 'hash-2', other);
  const keys = ['hash-1', 'hash-2'].map(
    (hash) =>
      `${keyspace.shardPrefix(keyspace.shardOf(conversation))}${conversation.tenant}:sum:${conversation.id}:${hash}`,
  );
  for (const key of keys) await redis.pexpire(key, 1_000);
  await hold('w-h').extend();
  const [mineMs = 0, otherMs = 0] = await Promise.all(keys.map((key) => redis.pttl(key)));
  expect(mineMs).toBeGreaterThan(LONG);
  expect(otherMs).toBeLessThanOrEqual(1_000);
});

test('keepCause extends no lease, names the event-loop block in the failure of a poison turn, and lasts until the next claim', async () => {
  const { conversation, lease } = await claim(`${ownerPrefix('w-j')}1`);
  await endLease(conversation, 2_000);
  const cause = 'Its event loop was blocked for more than 60 s by the tool "scan"';
  await hold('w-j').keepCause(cause);
  expect((await readLease(conversation)).leftMs).toBeLessThanOrEqual(2_000);
  const record = keyspace.key(conversation, 'c');
  expect(await redis.hget(record, 'blocked')).toBe(cause);
  await store.startAlone(lease, false);
  await redis.hset(record, 'attempts', TURN_LIMITS.maxAttempts);
  await endLease(conversation, -1_000);
  expect(await store.claim(conversation, `${ownerPrefix('w-k')}1`, 'w2')).toMatchObject({ status: 'poison' });
  const { turn } = lease;
  expect(await store.readTurn(conversation, turn)).toMatchObject({
    failure: { code: 'poison', message: expect.stringContaining(`ran nothing else. ${cause}. Read the logs`) },
  });
  expect(await redis.hexists(record, 'blocked')).toBe(0);
});
