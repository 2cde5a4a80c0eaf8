import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { EmbeddedRedis } from '../../src/store/embedded/server.ts';
import { idleMember, type Keyspace, readyMember, scheduledMember } from '../../src/store/keys.ts';
import type { Store } from '../../src/store/open-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Observation } from './observation.ts';
import { listTurnKeys, observeRedis } from './observe-redis.ts';
import { openSuiteRedis, SuiteKeyspace, type SuiteRedis } from './open-redis.ts';
import { restConversation } from './rest-conversation.ts';

/** A member of `ready` or `idle`: a mailbox, a pass, an idle conversation, or a scheduled turn. */
export type Entry = 't' | 'p' | 'r' | { readonly scheduled: string };

export type AddedEvent = { readonly type: string } & Readonly<Record<string, string>>;

/** A store under test, with actions that replace the passing of time, so that no test sleeps. */
export interface StoreHarness {
  readonly store: Store;
  readonly shards: readonly number[];
  /** Ends the lease of the head turn or of the pass. */
  readonly lapseLease: (of: 'turn' | 'pass', conversation: ConversationRef) => Promise<void>;
  /** Ends the time for which a pass waits for its child jobs. */
  readonly endParking: (conversation: ConversationRef) => Promise<void>;
  /** Ends the review of a proposal. */
  readonly expireProposal: (conversation: ConversationRef) => Promise<void>;
  /** Moves the deadline of a wait, and of the calls with the same deadline, into the past. */
  readonly passDeadline: (conversation: ConversationRef, turn: string) => Promise<void>;
  /** Makes a scheduled turn due. */
  readonly passDueTime: (conversation: ConversationRef, turn: string) => Promise<void>;
  /** Makes an entry overdue by `ms`. A negative number puts the entry off. */
  readonly makeOverdue: (conversation: ConversationRef, entry: Entry, ms: number) => Promise<void>;
  /** Ends the idle TTL of a conversation. */
  readonly endIdleTtl: (conversation: ConversationRef) => Promise<void>;
  /** Lets an hour pass since the last log entry of a conversation, and makes the conversation due for packing. */
  readonly rest: (conversation: ConversationRef) => Promise<void>;
  /** Milliseconds until log entries of a conversation may be packed, or undefined. */
  readonly packableIn: (conversation: ConversationRef) => Promise<number | undefined>;
  /** Allows the next sweep at once. Shards are swept once a second. */
  readonly allowSweep: () => Promise<void>;
  /** Lets the lease of a fork lapse. */
  readonly abandonFork: (conversation: ConversationRef) => Promise<void>;
  /** Removes a claim or record of a summary, as its expiry does. */
  readonly expireSummary: (conversation: ConversationRef, hash: string) => Promise<void>;
  /** Milliseconds until an entry is due, or undefined. */
  readonly dueIn: (conversation: ConversationRef, entry: Entry) => Promise<number | undefined>;
  readonly events: (conversation: ConversationRef) => Promise<Readonly<Record<string, string>>[]>;
  /** Writes events as a newer program may. */
  readonly addEvents: (conversation: ConversationRef, events: readonly AddedEvent[]) => Promise<void>;
  /** Drops all events but the newest `count`. */
  readonly trimEvents: (conversation: ConversationRef, count: number) => Promise<void>;
  /** Leaves the conversation as if an erase was interrupted after its first batch. */
  readonly markGone: (conversation: ConversationRef) => Promise<void>;
  /** Turns the clock of the store back. */
  readonly turnClockBack: (conversation: ConversationRef, ms: number) => Promise<void>;
  /** Reads the records themselves, without the operations of the store. */
  readonly observe: (conversation: ConversationRef) => Promise<Observation>;
  /** Ends all claims and pauses of webhook deliveries. */
  readonly makeDeliveriesDue: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const embedded = await EmbeddedRedis.open();

/** Opens the store over the Redis of this process, which runs the same scripts. */
export function openEmbeddedStoreHarness(): StoreHarness {
  const redis = embedded.connect();
  const close = async (): Promise<void> => {
    redis.disconnect();
    embedded.database.clear();
  };
  return openRedisStoreHarness(() => ({ redis, keyspace: new SuiteKeyspace(), close }));
}

export function openRedisStoreHarness(open: () => SuiteRedis = openSuiteRedis): StoreHarness {
  const { redis, keyspace, close } = open();
  const key = (kind: 'c' | 'pass' | 'ev' | 'gone', ref: ConversationRef): string => keyspace.key(ref, kind);
  return {
    store: openStore(redis, keyspace),
    shards: keyspace.shardNumbers(),
    lapseLease: (of, ref) => setField(redis, key(of === 'turn' ? 'c' : 'pass', ref), 'lease'),
    endParking: (ref) => setField(redis, key('pass', ref), 'parkedUntil'),
    expireProposal: async (ref) => {
      await setField(redis, key('pass', ref), 'expiresAt');
      await setField(redis, key('pass', ref), 'parkedUntil');
    },
    passDeadline: (ref, turn) => endWait(redis, keyspace.turn(ref, turn)),
    passDueTime: (ref, turn) => setField(redis, keyspace.turn(ref, turn), 'dueAt'),
    makeOverdue: async (ref, entry, ms) => {
      await redis.zadd(setOf(keyspace, ref, entry), (await readTime(redis)) - ms, memberOf(ref, entry));
    },
    endIdleTtl: async (ref) => {
      if ((await redis.hexists(key('c', ref), 'ttl')) === 1) await redis.hset(key('c', ref), 'ttl', '0 1');
      await redis.zadd(setOf(keyspace, ref, 'r'), 1, memberOf(ref, 'r'));
    },
    rest: async (ref) => {
      await restConversation(redis, keyspace, ref);
      await redis.zadd(keyspace.unpacked(keyspace.shardOf(ref)), 1, `${ref.tenant}|${ref.id}`);
    },
    packableIn: async (ref) => {
      const score = await redis.zscore(keyspace.unpacked(keyspace.shardOf(ref)), `${ref.tenant}|${ref.id}`);
      return score === null ? undefined : Number(score) - (await readTime(redis));
    },
    allowSweep: async () => {
      // One by one: the shards lie in different slots.
      await Promise.all(keyspace.shardNumbers().map((shard) => redis.unlink(keyspace.sweep(shard))));
    },
    abandonFork: (ref) => setField(redis, key('c', ref), 'forkUntil'),
    expireSummary: async (ref, hash) => {
      await redis.unlink(keyspace.summary(ref, hash));
    },
    dueIn: async (ref, entry) => {
      const score = await redis.zscore(setOf(keyspace, ref, entry), memberOf(ref, entry));
      return score === null ? undefined : Number(score) - (await readTime(redis));
    },
    events: async (ref) => (await redis.xrange(key('ev', ref), '-', '+')).map(([, fields]) => toRecord(fields)),
    addEvents: async (ref, events) => {
      const adding = redis.pipeline();
      for (const event of events) adding.xadd(key('ev', ref), '*', ...Object.entries(event).flat());
      await adding.exec();
    },
    trimEvents: async (ref, count) => {
      if (count === 0) await redis.unlink(key('ev', ref));
      else await redis.xtrim(key('ev', ref), 'MAXLEN', count);
    },
    // The first batch of an erase sets the key `gone` and removes certain keys in one script. Other scripts rely on that.
    markGone: async (ref) => {
      const removed = [key('c', ref), keyspace.key(ref, 'mb')];
      await redis
        .multi()
        .set(key('gone', ref), '0', 'PX', 86_400_000)
        .unlink(...removed)
        .exec();
    },
    // Redis uses the clock of the machine, so earlier writes move into the future instead.
    turnClockBack: async (ref, ms) => {
      const [state, at] = ((await redis.hget(key('c', ref), 'last')) ?? '').split(' ');
      if (at !== undefined) await redis.hset(key('c', ref), 'last', `${state} ${Number(at) + ms}`);
      for (const turn of await listTurnKeys(redis, keyspace, ref)) {
        for (const field of ['acceptedAt', 'settledAt']) {
          if ((await redis.hexists(turn, field)) === 1) await redis.hincrby(turn, field, ms);
        }
      }
    },
    observe: (ref) => observeRedis(redis, keyspace, ref),
    makeDeliveriesDue: async () => {
      for (const shard of keyspace.shardNumbers()) {
        for (const name of await redis.zrange(keyspace.outbox(shard), 0, '-1')) {
          await redis.zadd(keyspace.outbox(shard), 1, name);
        }
      }
    },
    close,
  };
}

function memberOf(ref: ConversationRef, entry: Entry): string {
  if (entry === 'r') return idleMember(ref);
  return typeof entry === 'string' ? readyMember(entry, ref) : scheduledMember(ref, entry.scheduled);
}

function setOf(keyspace: Keyspace, ref: ConversationRef, entry: Entry): string {
  const shard = keyspace.shardOf(ref);
  return entry === 'r' ? keyspace.idle(shard) : keyspace.ready(shard);
}

async function endWait(redis: Redis, key: string): Promise<void> {
  const [until = null, calls = null] = await redis.hmget(key, 'waitUntil', 'waitCalls');
  if (until === null) return;
  await redis.hset(key, 'waitUntil', 1, 'waitCalls', (calls ?? '').replaceAll(` ${until}`, ' 1'));
}

/** Moves a time into the past, if the record has that field. */
async function setField(redis: Redis, key: string, field: string): Promise<void> {
  if ((await redis.hexists(key, field)) === 1) await redis.hset(key, field, 1);
}

async function readTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

function toRecord(flat: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : [])),
  );
}
