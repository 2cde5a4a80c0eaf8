import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { Store } from '../../src/domain/ports/store.ts';
import { MemoryDatabase } from '../../src/memory-store/database.ts';
import { emit } from '../../src/memory-store/mailbox.ts';
import { openMemoryStore } from '../../src/memory-store/open-memory-store.ts';
import { idleMember, type Keyspace, readyMember, scheduledMember } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { openSuiteRedis, type SuiteRedis } from './open-redis.ts';
import { passMemoryWait, passWait } from './pass-wait.ts';

/** A member of `ready` or `idle`: a mailbox, a pass, a conversation that rests, or a scheduled turn. */
export type Entry = 't' | 'p' | 'r' | { readonly scheduled: string };

export type AddedEvent = { readonly type: string } & Readonly<Record<string, string>>;

/** Every port of a store under test, with hands for what takes time: no test sleeps. */
export interface StoreHarness {
  readonly store: Store;
  readonly shards: readonly number[];
  /** as if the owner of the head turn or of the pass had been silent for longer than its lease */
  readonly lapseLease: (of: 'turn' | 'pass', conversation: ConversationRef) => Promise<void>;
  /** as if the time for which a pass is parked were over */
  readonly endParking: (conversation: ConversationRef) => Promise<void>;
  /** as if a proposal had waited for as long as it may */
  readonly expireProposal: (conversation: ConversationRef) => Promise<void>;
  /** as if the deadline of a wait had passed */
  readonly passDeadline: (conversation: ConversationRef, turn: string) => Promise<void>;
  /** as if the time of a scheduled turn had come */
  readonly passDueTime: (conversation: ConversationRef, turn: string) => Promise<void>;
  /** as if an entry were overdue by so many ms */
  readonly makeOverdue: (conversation: ConversationRef, entry: Entry, ms: number) => Promise<void>;
  /** as if nothing had happened in a conversation for its time to live */
  readonly endIdleTtl: (conversation: ConversationRef) => Promise<void>;
  /** as if the last sweep were longer ago than a second */
  readonly allowSweep: () => Promise<void>;
  /** Lets the lease of a fork lapse. */
  readonly abandonFork: (conversation: ConversationRef) => Promise<void>;
  /** as if a claim or record had expired */
  readonly expireSummary: (conversation: ConversationRef, hash: string) => Promise<void>;
  /** Milliseconds until an entry is due, or undefined. */
  readonly dueIn: (conversation: ConversationRef, entry: Entry) => Promise<number | undefined>;
  readonly events: (conversation: ConversationRef) => Promise<Readonly<Record<string, string>>[]>;
  /** as a program may that is newer than this one */
  readonly addEvents: (conversation: ConversationRef, events: readonly AddedEvent[]) => Promise<void>;
  /** as if only the newest `count` were kept still */
  readonly trimEvents: (conversation: ConversationRef, count: number) => Promise<void>;
  /** an erase has begun and removed nothing yet */
  readonly markGone: (conversation: ConversationRef) => Promise<void>;
  readonly close: () => Promise<void>;
}

export function openMemoryStoreHarness(): StoreHarness {
  const db = new MemoryDatabase();
  return {
    store: openMemoryStore(db),
    shards: [0],
    lapseLease: async (of, ref) => {
      const record = of === 'turn' ? db.find(ref) : db.find(ref)?.pass;
      if (record?.leaseUntil !== undefined) record.leaseUntil = 1;
    },
    endParking: async (ref) => {
      const pass = db.find(ref)?.pass;
      if (pass?.parked !== undefined) pass.parked = { ...pass.parked, untilMs: 1 };
    },
    expireProposal: async (ref) => {
      const pass = db.find(ref)?.pass;
      if (pass?.review !== undefined) pass.review = { ...pass.review, expiresAt: 1 };
      if (pass?.parked !== undefined) pass.parked = { ...pass.parked, untilMs: 1 };
    },
    passDeadline: async (ref, turn) => passMemoryWait(db.find(ref)?.turnRecords.get(turn)),
    passDueTime: async (ref, turn) => {
      const record = db.find(ref)?.turnRecords.get(turn);
      if (record !== undefined) Object.assign(record, { dueAt: 1 });
    },
    makeOverdue: async (ref, entry, ms) => {
      db.ready.set(memberOf(ref, entry), db.now() - ms);
    },
    endIdleTtl: async (ref) => {
      const conversation = db.find(ref);
      if (conversation?.ttl !== undefined) conversation.ttl = { ms: 0, ends: 1 };
      db.ready.set(memberOf(ref, 'r'), 1);
    },
    allowSweep: async () => db.lastSweepMsByShard.clear(),
    abandonFork: async (ref) => {
      const conversation = db.find(ref);
      if (conversation?.fork !== undefined) conversation.fork = { ...conversation.fork, until: 1 };
    },
    expireSummary: async (ref, hash) => {
      const summary = db.find(ref)?.summaryRecords.get(hash);
      if (summary !== undefined) summary.until = 1;
    },
    dueIn: async (ref, entry) => {
      const dueAt = db.ready.get(memberOf(ref, entry));
      return dueAt === undefined ? undefined : dueAt - db.now();
    },
    events: async (ref) => (db.find(ref)?.events ?? []).map(({ type, fields }) => ({ type, ...fields })),
    addEvents: async (ref, events) => {
      const conversation = db.find(ref);
      if (conversation === undefined) throw new Error('in memory events lie with their conversation');
      for (const { type, ...fields } of events) emit(db, conversation, type, fields);
    },
    trimEvents: async (ref, count) => {
      const events = db.find(ref)?.events;
      events?.splice(0, events.length - count);
    },
    markGone: async (ref) => db.markGone(ref),
    close: async () => {},
  };
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
    passDeadline: (ref, turn) => passWait(redis, keyspace.turn(ref, turn)),
    passDueTime: (ref, turn) => setField(redis, keyspace.turn(ref, turn), 'dueAt'),
    makeOverdue: async (ref, entry, ms) => {
      await redis.zadd(setOf(keyspace, ref, entry), (await readTime(redis)) - ms, memberOf(ref, entry));
    },
    endIdleTtl: async (ref) => {
      if ((await redis.hexists(key('c', ref), 'ttl')) === 1) await redis.hset(key('c', ref), 'ttl', '0 1');
      await redis.zadd(setOf(keyspace, ref, 'r'), 1, memberOf(ref, 'r'));
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
    markGone: async (ref) => {
      await redis.set(key('gone', ref), 0, 'PX', 86_400_000);
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

/** Sets a time that is there into the past. */
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
