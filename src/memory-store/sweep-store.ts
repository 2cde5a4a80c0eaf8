import { type ConversationRef, ownerPrefix } from '../domain/ids.ts';
import {
  type DueEntry,
  type ShardMeasure,
  SWEEP_CLAIM_MS,
  type SweepDecision,
  type SweepStore,
} from '../domain/ports/sweep-store.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { expire } from './idle-ttl.ts';
import { headTurn, WAKE_GRACE_MS, wakeTurn } from './mailbox.ts';
import { decodeMember, encodeMember, readyEntry, scheduledEntry } from './members.ts';

const FIRST_PUSH_MS = 1_000;
const LAST_PUSH_MS = 60_000;
const IDLE_PUSH_MS = 5_000;
const MAX_IDLE = 10;

/**
 * Lets the sweeper find due turns, passes and idle conversations in memory, as one shard. The contract tests in test/store
 * run against this store and against Redis.
 */
export function openMemorySweepStore(db: MemoryDatabase): SweepStore {
  let lease = { owner: '', until: 0 };
  return {
    shards: 1,
    sweepShards: async (shards, limit) => ({
      due: shards.flatMap((shard) => sweepShard(db, shard, limit)).map((member) => decodeMember(member)),
      quarantined: [],
    }),
    holdSweeping: async (owner, leaseMs) => {
      if (lease.owner !== owner && lease.until > db.now()) return undefined;
      lease = { owner, until: db.now() + leaseMs };
      return leaseMs > 0 ? db.now() : undefined;
    },
    sweepDue: async (_now, limit) => ({
      due: sweepShard(db, 0, limit).map((member) => decodeMember(member)),
      quarantined: [],
    }),
    lapseLeases: async (worker) => ({
      due: lapseLeases(db, worker).map((member) => decodeMember(member)),
      quarantined: [],
    }),
    quarantine: async (entry, why) => {
      const name = encodeMember(entry);
      if (!db.ready.delete(name)) return undefined;
      db.quarantined.set(name, why);
      return { shard: 0, set: entry.kind === 'idle' ? 'idle' : 'ready', name, why };
    },
    // Records in memory are typed, so none can be corrupt.
    quarantineRecord: async () => undefined,
    inspectTurn: async (ref) => inspect(db, 'turn', ref),
    inspectPass: async (ref) => inspect(db, 'pass', ref),
    recordWake: async ({ kind, conversation: ref }, wake) => {
      if ((kind !== 'turn' && kind !== 'pass') || inspect(db, kind, ref).status === 'quiet') return false;
      const conversation = db.find(ref);
      const record = kind === 'turn' ? conversation : conversation?.pass;
      if (record !== undefined) record.wake = wake;
      return true;
    },
    promoteScheduled: async (ref, turn, wake) => ({ needsWake: promote(db, ref, turn, wake) }),
    expire: async (ref, owner) => expire(db, ref, owner),
    measureShards: async () => measure(db),
  };
}

function measure(db: MemoryDatabase): ShardMeasure {
  const overdue = [...db.ready].flatMap(([member, dueAt]) =>
    dueAt < db.now() ? [{ kind: decodeMember(member).kind, ms: db.now() - dueAt }] : [],
  );
  const count = (kind: DueEntry['kind']): number => overdue.filter((entry) => entry.kind === kind).length;
  const oldest = (entries: typeof overdue): number => Math.max(0, ...entries.map(({ ms }) => ms));
  const passes = [...db.conversations.values()].flatMap(({ pass }) =>
    pass === undefined || (pass.review !== undefined && pass.review.decision === undefined) ? [] : [pass],
  );
  const turns = [...db.conversations.values()].flatMap(({ turnRecords }) => [...turnRecords.values()]);
  return {
    overdue: { turn: count('turn'), pass: count('pass'), scheduled: count('scheduled'), idle: count('idle') },
    oldestOverdueMs: oldest(overdue.filter(({ kind }) => kind !== 'idle')),
    quarantined: db.quarantined.size,
    oldestIdleMs: oldest(overdue.filter(({ kind }) => kind === 'idle')),
    openPasses: passes.length,
    oldestOpenPassMs: Math.max(0, ...passes.map(({ requestedAt }) => db.now() - requestedAt)),
    failedTurns: turns.filter(({ state }) => state === 'failed').length,
  };
}

function sweepShard(db: MemoryDatabase, shard: number, limit: number): string[] {
  const now = db.now();
  if (shard !== 0 || (db.lastSweepMsByShard.get(shard) ?? Number.NEGATIVE_INFINITY) + SWEEP_CLAIM_MS > now) return [];
  db.lastSweepMsByShard.set(shard, now);
  const due = [...db.ready].filter(([, dueAt]) => dueAt <= now).toSorted(([, a], [, b]) => a - b);
  const { idle = [], ready = [] } = Object.groupBy(due, ([member]) => (isIdle(member) ? 'idle' : 'ready'));
  for (const [member] of idle.slice(0, MAX_IDLE)) db.ready.set(member, now + IDLE_PUSH_MS);
  const pushed = ready.slice(0, limit).flatMap(([member]) => {
    if (!hasRecord(db, member)) {
      db.ready.delete(member);
      return [];
    }
    const pushes = db.sweeps.get(member) ?? 0;
    db.sweeps.set(member, pushes + 1);
    db.ready.set(member, now + Math.min(FIRST_PUSH_MS * 2 ** pushes, LAST_PUSH_MS));
    return [member];
  });
  return [...pushed, ...idle.slice(0, MAX_IDLE).map(([member]) => member)];
}

function isIdle(member: string): boolean {
  return decodeMember(member).kind === 'idle';
}

function hasRecord(db: MemoryDatabase, member: string): boolean {
  const { kind, conversation: ref, turn = '' } = decodeMember(member);
  const conversation = db.find(ref);
  if (kind === 'pass') return conversation?.pass !== undefined;
  return kind === 'turn' ? conversation !== undefined : conversation?.turnRecords.has(turn) === true;
}

/** Checks whether a turn or pass has work but no worker, as `lua/shared/lapse.lua` does in Redis. */
function inspect(db: MemoryDatabase, kind: 'turn' | 'pass', ref: ConversationRef): SweepDecision {
  const found = kind === 'turn' ? findTurn(db, ref) : findPass(db, ref);
  const member = readyEntry(kind === 'turn' ? 't' : 'p', ref);
  if (found === undefined || db.isGone(ref)) {
    db.ready.delete(member);
    return { status: 'quiet' };
  }
  if (found.untilMs > db.now()) {
    db.ready.set(member, found.untilMs);
    return { status: 'quiet' };
  }
  const { hadWorker, wake } = found;
  return { status: 'lapsed', hadWorker, ...(wake !== undefined && { recordedWake: wake }) };
}

/** Ends the leases of a dead worker, as `lua/lapse-leases.lua` does in Redis. */
function lapseLeases(db: MemoryDatabase, worker: string): string[] {
  const due = [...db.ready].toSorted(([, a], [, b]) => a - b).map(([member]) => member);
  const lapsed = due.filter((member) => lapseLease(db, member, ownerPrefix(worker)));
  for (const member of lapsed) db.ready.set(member, db.now() + FIRST_PUSH_MS);
  return lapsed;
}

function lapseLease(db: MemoryDatabase, member: string, owners: string): boolean {
  const { kind, conversation: ref } = decodeMember(member);
  const conversation = db.find(ref);
  const record = kind === 'turn' ? conversation : kind === 'pass' ? conversation?.pass : undefined;
  if (conversation === undefined || record === undefined) return false;
  if (kind === 'turn' && conversation.alone !== undefined) return false;
  const isOwned = record.owner?.startsWith(owners) === true;
  const waits = (conversation.pass?.parked?.untilMs ?? 0) > db.now();
  const hasDropped = kind === 'pass' && (isOwned || waits) && dropClaims(conversation, owners);
  if (isOwned) {
    record.leaseUntil = Math.min(record.leaseUntil ?? 0, db.now());
    return true;
  }
  const { pass } = conversation;
  if (!hasDropped || pass?.parked === undefined) return false;
  pass.parked = { ...pass.parked, untilMs: db.now() };
  return true;
}

/** Removes a worker's claims on summaries. Returns true if there was one. */
function dropClaims({ summaryRecords }: MemoryConversation, owners: string): boolean {
  const claimed = [...summaryRecords].filter(
    ([, record]) => record.kind === 'claim' && record.owner.startsWith(owners),
  );
  for (const [hash] of claimed) summaryRecords.delete(hash);
  return claimed.length > 0;
}

interface Deadline {
  readonly untilMs: number;
  readonly hadWorker: boolean;
  readonly wake: string | undefined;
}

function findTurn(db: MemoryDatabase, ref: ConversationRef): Deadline | undefined {
  const conversation = db.find(ref);
  const head = conversation && headTurn(conversation);
  if (conversation === undefined || head === undefined) return undefined;
  const isWaiting = head.state === 'waiting' && head.waiting?.isOver === false;
  const waitsUntil = isWaiting ? (head.waiting?.until ?? 0) : 0;
  const { leaseUntil, wake } = conversation;
  return { untilMs: Math.max(leaseUntil ?? 0, waitsUntil), hadWorker: leaseUntil !== undefined, wake };
}

function findPass(db: MemoryDatabase, ref: ConversationRef): Deadline | undefined {
  const pass = db.find(ref)?.pass;
  if (pass === undefined) return undefined;
  const { leaseUntil, parked, wake } = pass;
  return { untilMs: Math.max(leaseUntil ?? 0, parked?.untilMs ?? 0), hadWorker: leaseUntil !== undefined, wake };
}

function promote(db: MemoryDatabase, ref: ConversationRef, turn: string, wake: string): boolean {
  const member = scheduledEntry(ref, turn);
  const conversation = db.find(ref);
  const record = conversation?.turnRecords.get(turn);
  if (conversation === undefined || record?.state !== 'scheduled' || db.isGone(ref)) {
    db.ready.delete(member);
    return record?.state === 'queued' && conversation?.wake === wake;
  }
  if ((record.dueAt ?? 0) > db.now()) {
    db.ready.set(member, record.dueAt ?? 0);
    return false;
  }
  db.ready.delete(member);
  db.sweeps.delete(member);
  record.state = 'queued';
  const isFirst = conversation.mailbox.push(turn) === 1;
  if (isFirst) wakeTurn(db, conversation, wake);
  else if (!db.ready.has(readyEntry('t', ref))) db.ready.set(readyEntry('t', ref), db.now() + WAKE_GRACE_MS);
  return isFirst;
}
