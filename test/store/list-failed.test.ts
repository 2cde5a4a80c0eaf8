import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { listFailed } from '../../src/store/failed-turns.ts';
import { openSuiteRedis, type SuiteRedis } from './open-redis.ts';
import { newConversation } from './samples.ts';

/** More failed turns than fit into one page of a shard. */
const TURNS = 2_000;
const SINCE = Date.now() - 3_600_000;

let suite: SuiteRedis;
/** The failed turns that the tests expect, newest first. */
const turns: { readonly tenant: string; readonly id: string; readonly code: string; readonly isKept: boolean }[] = [];

beforeAll(async () => {
  suite = openSuiteRedis();
  const { redis, keyspace } = suite;
  for (let at = 0; at < TURNS; at += 1) {
    const tenant = at % 100 === 7 ? 'rare' : '_';
    const { id } = newConversation();
    const ref = { tenant, id };
    const turn = { tenant, id, code: at % 400 === 399 ? 'poison' : 'model_failed', isKept: at % 5 !== 0 };
    turns.push(turn);
    const failedAt = SINCE + TURNS - at;
    await redis.zadd(keyspace.failed(keyspace.shardOf(ref)), failedAt, `${tenant}|${id}|t1`);
    // A turn is kept for a week. Its entry in the list is removed only when another turn of the shard fails.
    if (!turn.isKept) continue;
    const failure = JSON.stringify({ code: turn.code, message: 'it failed' });
    await redis.hset(keyspace.turn(ref, 't1'), 'agent', 'a', 'settledAt', failedAt, 'failure', failure);
  }
});
afterAll(() => suite.close());

/** Counts how many turns and list entries are read, in how many rounds, and how many reads are in flight at once. */
function countReads(redis: Redis) {
  const reads = { all: 0, rounds: 0, atOnce: 0, underWay: 0, pages: 0 };
  const counted = new Proxy(redis, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === 'zrevrangebyscore') reads.pages += 1;
      if (name !== 'hmget') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      return async (...args: [string]) => {
        reads.all += 1;
        if (reads.underWay === 0) reads.rounds += 1;
        reads.underWay += 1;
        reads.atOnce = Math.max(reads.atOnce, reads.underWay);
        try {
          return await target.hmget(...args);
        } finally {
          reads.underWay -= 1;
        }
      };
    },
  });
  return { redis: counted, reads };
}

const idsOf = (of: readonly { readonly id: string }[]): string[] => of.map(({ id }) => id);

interface Query {
  readonly limit: number;
  readonly tenant?: string;
  readonly code?: string;
}

test.each<[Query, number, number]>([
  [{ limit: 10 }, 20, 2],
  [{ limit: 300 }, 600, 2],
  [{ limit: 10, tenant: 'rare' }, 30, 1],
  [{ limit: 3, code: 'poison' }, 1_600, 6],
  [{ limit: 5_000, code: 'poison' }, TURNS, 10],
  [{ limit: 5_000 }, TURNS, 10],
])('listFailed with the query %j reads at most %i turns in %i rounds', async (query, most, rounds) => {
  const { redis, reads } = countReads(suite.redis);
  const found = await listFailed(redis, suite.keyspace, { since: 0, ...query });
  const wanted = turns.filter(
    ({ tenant, code, isKept }) =>
      isKept &&
      (query.tenant === undefined || tenant === query.tenant) &&
      (query.code === undefined || code === query.code),
  );
  expect(idsOf(found.map(({ conversation: id }) => ({ id })))).toEqual(idsOf(wanted.slice(0, query.limit)));
  expect(reads.all).toBeLessThanOrEqual(most);
  expect(reads.atOnce).toBeLessThanOrEqual(200);
  expect(reads.rounds).toBeLessThanOrEqual(rounds);
});

test('listFailed leaves out turns that failed before the query’s `since` time', async () => {
  const since = SINCE + TURNS - 20;
  const found = await listFailed(suite.redis, suite.keyspace, { since, limit: 100 });
  expect(idsOf(found.map(({ conversation: id }) => ({ id })))).toEqual(
    idsOf(turns.slice(0, 21).filter(({ isKept }) => isKept)),
  );
});

test('listFailed reads no turn whose retention has ended', async () => {
  const stale = openSuiteRedis();
  const { keyspace } = stale;
  try {
    const expired = Date.now() - TURN_LIMITS.turnRetentionMs - 60_000;
    for (const shard of keyspace.shardNumbers()) {
      const members = Array.from({ length: 200 }, (_, at) => [expired - at, `_|c${at}|t1`]);
      await stale.redis.zadd(keyspace.failed(shard), ...members.flat());
    }
    const { redis, reads } = countReads(stale.redis);
    expect(await listFailed(redis, keyspace, { since: 0, limit: 10 })).toEqual([]);
    expect(reads).toMatchObject({ all: 0, pages: keyspace.shardNumbers().length });
  } finally {
    await stale.close();
  }
});
