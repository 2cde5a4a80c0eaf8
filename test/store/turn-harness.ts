import type { ConversationRef } from '../../src/domain/ids.ts';
import type { TurnIntake, TurnStore } from '../../src/domain/ports/turn-store.ts';
import { MemoryDatabase } from '../../src/memory-store/database.ts';
import { endWait } from '../../src/memory-store/mailbox.ts';
import { openMemoryTurnStore } from '../../src/memory-store/turn-store.ts';
import { readyMember } from '../../src/store/keys.ts';
import { scriptBinder } from '../../src/store/script.ts';
import { openTurnStore } from '../../src/store/turns.ts';
import type { Observation } from './observation.ts';
import { observeMemory } from './observe-memory.ts';
import { observeRedis } from './observe-redis.ts';
import { openSuiteRedis, type SuiteRedis } from './open-redis.ts';
import { passMemoryWait, passWait } from './pass-wait.ts';

/** A store under test, with hands for what takes time or belongs to others: no test sleeps. */
export interface TurnHarness {
  readonly store: TurnStore & TurnIntake;
  readonly observe: (conversation: ConversationRef) => Promise<Observation>;
  /** as if the owner had been silent for longer than its lease */
  readonly lapseLease: (conversation: ConversationRef) => Promise<void>;
  /** as if the deadline of a wait had passed */
  readonly passDeadline: (conversation: ConversationRef, turn: string) => Promise<void>;
  /** as if the clock of the store had run back */
  readonly turnClockBack: (conversation: ConversationRef, ms: number) => Promise<void>;
  /** as if a sweep had pushed the mailbox's entry out by a minute */
  readonly pushOut: (conversation: ConversationRef) => Promise<void>;
  /** a pass is in progress, where there is a conversation */
  readonly beginPass: (conversation: ConversationRef) => Promise<void>;
  /**
   * Ends the pass.
   * @returns true if a turn waited for it
   */
  readonly endPass: (conversation: ConversationRef, wake: string) => Promise<boolean>;
  /** an erase has begun and removed nothing yet */
  readonly markGone: (conversation: ConversationRef) => Promise<void>;
  /** writes calls that a caller's own loop left open */
  readonly openCall: (conversation: ConversationRef, callId: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export function openMemoryHarness(): TurnHarness {
  const db = new MemoryDatabase();
  return {
    store: openMemoryTurnStore(db),
    observe: async (ref) => observeMemory(db, ref),
    lapseLease: async (ref) => {
      const conversation = db.find(ref);
      if (conversation?.leaseUntil !== undefined) conversation.leaseUntil = 1;
    },
    passDeadline: async (ref, turn) => passMemoryWait(db.find(ref)?.turnRecords.get(turn)),
    turnClockBack: async (_ref, ms) => db.advance(-ms),
    pushOut: async (ref) => {
      db.ready.set(readyMember('t', ref), db.now() + 60_000);
    },
    beginPass: async (ref) => {
      const conversation = db.find(ref);
      if (conversation === undefined) return;
      conversation.pass = { passId: 'pass', reasons: [], attempts: 0, requestedAt: db.now() };
      db.ready.set(readyMember('p', ref), db.now());
    },
    endPass: async (ref, wake) => {
      const conversation = db.find(ref);
      if (conversation === undefined) return false;
      conversation.pass = undefined;
      db.ready.delete(readyMember('p', ref));
      return endWait(db, conversation, 'compaction', { wake, isFulfilled: true });
    },
    markGone: async (ref) => db.markGone(ref),
    openCall: async (ref, callId) => {
      db.find(ref)?.openCalls.set(callId, '');
    },
    close: async () => {},
  };
}

export function openRedisHarness(open: () => SuiteRedis = openSuiteRedis): TurnHarness {
  const { redis, keyspace, close } = open();
  const fulfilCompaction = scriptBinder(
    redis,
    keyspace,
  )<[conversation: ConversationRef, wake: string], boolean>({
    file: '../../../test/store/fulfil-wait',
    args: ([, wake]) => ['compaction', wake],
    decode: (reply) => reply === 1,
  });
  const record = (ref: ConversationRef): string => keyspace.key(ref, 'c');
  const ready = (ref: ConversationRef): string => keyspace.ready(keyspace.shardOf(ref));
  return {
    store: openTurnStore(redis, keyspace),
    observe: (ref) => observeRedis(redis, keyspace, ref),
    lapseLease: async (ref) => {
      if ((await redis.hexists(record(ref), 'lease')) === 1) await redis.hset(record(ref), 'lease', 1);
    },
    passDeadline: (ref, turn) => passWait(redis, keyspace.turn(ref, turn)),
    // Its clock is the machine's: what was written before is moved on instead.
    turnClockBack: async (ref, ms) => {
      const [state, at] = ((await redis.hget(record(ref), 'last')) ?? '').split(' ');
      if (at !== undefined) await redis.hset(record(ref), 'last', `${state} ${Number(at) + ms}`);
      for (const key of await redis.smembers(keyspace.key(ref, 'ix'))) {
        if (key.startsWith(keyspace.turn(ref, ''))) await moveTimes(redis, key, ['acceptedAt', 'settledAt'], ms);
      }
    },
    pushOut: async (ref) => {
      await redis.zincrby(ready(ref), 60_000, readyMember('t', ref));
    },
    beginPass: async (ref) => {
      if ((await redis.exists(record(ref))) === 0) return;
      await redis.hset(record(ref), 'pass', 'pass');
      await redis.zadd(ready(ref), 1, readyMember('p', ref));
    },
    endPass: async (ref, wake) => {
      await redis.hdel(record(ref), 'pass');
      await redis.zrem(ready(ref), readyMember('p', ref));
      return fulfilCompaction(ref, wake);
    },
    // As an erase that was cut off behind its first batch: scripts rely on what goes together with the mark.
    markGone: async (ref) => {
      const [c, mailbox] = [keyspace.key(ref, 'c'), keyspace.key(ref, 'mb')];
      await redis.multi().set(keyspace.key(ref, 'gone'), '0', 'PX', 86_400_000).unlink(c, mailbox).exec();
    },
    openCall: async (ref, callId) => {
      await redis.hset(record(ref), 'open', 1, `o:${callId}`, '');
    },
    close,
  };
}

async function moveTimes(
  redis: SuiteRedis['redis'],
  key: string,
  fields: readonly string[],
  ms: number,
): Promise<void> {
  for (const field of fields) {
    if ((await redis.hexists(key, field)) === 1) await redis.hincrby(key, field, ms);
  }
}
