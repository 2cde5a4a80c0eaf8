import { expect, test } from 'vitest';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { takeShare } from '../setup/count-runs.ts';
import { ACTS, type KeptKey, KeptKeys, type LiveConversation, makeLive, makeWaiting } from './live-conversation.ts';
import { openSuiteStore } from './open-redis.ts';
import { acceptAndClaim, newConversation, textStep } from './samples.ts';

const { redis, keyspace, store } = openSuiteStore();

/**
 * Corrupt values: a number too large for a seq, text that is not a number, and JSON of the wrong form. Fields get them in
 * turn.
 */
const GARBAGE = ['9e15', 'x', '[{"kind":"raw"}]'];
let values = 0;

interface Corruption {
  readonly name: string;
  readonly corrupt: () => Promise<unknown>;
}

/** Lists all corruptions: each key with the wrong Redis type, and each value of each key replaced by a corrupt value. */
async function listCorruptions(keys: readonly string[]): Promise<Corruption[]> {
  const perKey = await Promise.all(
    keys.map(async (key) => {
      const type = await redis.type(key);
      const retype = async (): Promise<void> => {
        await redis.unlink(key);
        await (type === 'string' ? redis.rpush(key, 'x') : redis.set(key, 'x'));
      };
      const retyped = { name: `${key} has another type`, corrupt: retype };
      return [retyped, ...(await listValues(key, type))];
    }),
  );
  return perKey.flat();
}

async function listValues(key: string, type: string): Promise<Corruption[]> {
  const value = (name: string, corrupt: (garbage: string) => Promise<unknown>): Corruption[] => {
    values += 1;
    const garbage = GARBAGE[values % GARBAGE.length] ?? '';
    return [{ name: `${key} ${name} is ${garbage}`, corrupt: () => corrupt(garbage) }];
  };
  switch (type) {
    case 'hash':
      return (await redis.hkeys(key)).flatMap((field) => [
        ...value(field, (garbage) => redis.hset(key, field, garbage)),
        { name: `${key} ${field} is missing`, corrupt: () => redis.hdel(key, field) },
      ]);
    case 'list':
      return value('head', (garbage) => redis.lset(key, 0, garbage));
    case 'set':
      return value('member', (garbage) => redis.sadd(key, garbage));
    case 'stream':
      return value('entry', (garbage) => redis.xadd(key, '*', garbage, garbage));
    default:
      return value('text', (garbage) => redis.set(key, garbage));
  }
}

/** Returns a new conversation in the same shard as the given one. */
function neighbourOf(conversation: ConversationRef): ConversationRef {
  for (;;) {
    const candidate = newConversation();
    if (keyspace.shardOf(candidate) === keyspace.shardOf(conversation)) return candidate;
  }
}

/**
 * Checks that another conversation of the shard still works: a sweep finds its turn, which is claimed, answered and
 * settled.
 */
async function serve(neighbour: ConversationRef, turn: string): Promise<void> {
  const shard = keyspace.shardOf(neighbour);
  const { lease, conversation } = await acceptAndClaim(store, neighbour, turn);
  await redis.zadd(keyspace.ready(shard), 1, `t|${neighbour.tenant}|${neighbour.id}`);
  await redis.unlink(keyspace.sweep(shard));
  const { due, failure } = await store.sweepShards([shard], 100);
  expect(failure).toBeUndefined();
  expect(due.map((entry) => entry.conversation.id)).toContain(neighbour.id);
  await store.recordStep(lease, textStep('model.1', conversation.head));
  const settled = await store.settle(lease, { state: 'completed', answerSeq: conversation.head + 1 }, `w-${turn}`);
  expect(settled.status).toBe('settled');
}

/** Operations that give out a lease before the store decodes the reply. If decoding fails, that lease simply lapses. */
const HANDING_OUT = new Set(['claim', 'completeAndTake', 'claimPass', 'takeOverPass']);

/**
 * Runs every operation of a client or worker while one record is corrupt. @returns how many failed with `corrupt_record`
 */
async function runActs(live: LiveConversation, keys: KeptKeys, sets: readonly string[]): Promise<number> {
  let refusals = 0;
  let before = await keys.read(...sets);
  for (const [name, act] of Object.entries(ACTS)) {
    const error = await act(store, live).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    const after = await keys.read(...sets);
    if (error !== undefined) {
      if (!isTurnfoldError(error)) throw new Error(`${name} fails without a code`, { cause: error });
      if (!HANDING_OUT.has(name))
        expect(contentOf(after), `${name} writes nothing: ${error.message}`).toEqual(contentOf(before));
      if (error.code === 'corrupt_record') {
        expect(error.details, name).toMatchObject({ key: expect.stringMatching(/^\{tf\d+\}:/) });
        refusals += 1;
      }
    }
    if (sameKeys(before, after)) continue;
    await keys.restore(before);
    before = await keys.read(...sets);
  }
  return refusals;
}

function sameKeys(one: ReadonlyMap<string, KeptKey>, other: ReadonlyMap<string, KeptKey>): boolean {
  return one.size === other.size && [...one].every(([name, { content }]) => other.get(name)?.content === content);
}

function contentOf(keys: ReadonlyMap<string, KeptKey>): Record<string, string> {
  return Object.fromEntries([...keys].map(([name, { content }]) => [name, content]));
}

test.each([
  ['has a running turn', makeLive],
  ['has a waiting turn', makeWaiting],
])(
  'if any record of a conversation that %s is corrupt, calls fail with an error code and write nothing, and another conversation still works',
  async (_, make) => {
    const live = await make(store, newConversation());
    const neighbour = neighbourOf(live.conversation);
    const shard = keyspace.shardOf(live.conversation);
    const keys = new KeptKeys(redis, live.conversation, keyspace.shardPrefix(shard));
    const sets = [keyspace.ready(shard), keyspace.idle(shard), keyspace.openPasses(shard), keyspace.failed(shard)];
    const sound = await keys.read(...sets);
    expect(await runActs(live, keys, sets), 'sound records are not refused').toBe(0);
    await keys.restore(sound);
    let refused = 0;
    const corruptions = takeShare(await listCorruptions(await keys.list()));
    for (const [at, { name, corrupt }] of corruptions.entries()) {
      await corrupt();
      await runActs(live, keys, sets).then(
        (refusals) => void (refused += refusals),
        (cause: unknown) => {
          throw new Error(name, { cause });
        },
      );
      await serve(neighbour, `n${at}`);
      await redis.zadd(keyspace.ready(shard), 1, `t|_|${live.conversation.id}`);
      await store.erase(live.conversation);
      await keys.restore(sound);
    }
    expect(refused).toBeGreaterThan(corruptions.length);
  },
  600_000,
);
