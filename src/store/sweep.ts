import type { Redis } from 'ioredis';
import { type ConversationRef, ownerPrefix } from '../domain/ids.ts';
import {
  type DueEntry,
  type ExpireResult,
  QUARANTINE_SETS,
  type QuarantineEntry,
  SWEEP_CLAIM_MS,
  type SweepDecision,
  type SweepStore,
} from '../domain/ports/sweep-store.ts';
import { ERASE_BATCH, GONE_MS } from './contexts.ts';
import { ExistingKeys } from './existing-keys.ts';
import { idleMember, type Keyspace, readyMember, scheduledMember } from './keys.ts';
import { bindLease } from './lease.ts';
import { answerWithin } from './redis/servers.ts';
import { bindRestoreIndex } from './restore-index.ts';
import { type ScriptDefinition, type ScriptOf, scriptBinder } from './script.ts';
import { awaitShards, joinMeasures, measureShardScript } from './shard-measures.ts';
import { type ShardSweep, ShardSweeps } from './shard-sweeps.ts';
import { claimsOf } from './summaries.ts';

/** Opens the store that the sweeper uses to find due entries in Redis. One script call sweeps one shard. */
export function openSweepStore(redis: Redis, keyspace: Keyspace): SweepStore {
  const bind = scriptBinder(redis, keyspace);
  const existing = new ExistingKeys(redis, LISTS_AT_ONCE);
  const sweeps = new ShardSweeps({
    sweep: bind(sweepShardScript),
    makeRoom: bind(sweepIdleScript),
    lapse: bind(lapseLeasesScript),
    isDue: (shard, now, list) => isDue({ redis, existing }, keyspace[list](shard), now),
  });
  const hold = bindLease(redis, keyspace, keyspace.sweeping());
  const inspect = bind(inspectScript);
  const record = bind(recordWakeScript);
  const measure = bind(measureShardScript);
  const quarantine = bind(quarantineScript);
  return {
    shards: keyspace.shards,
    quarantine: async (entry, why) => {
      const shard = keyspace.shardOf(entry.conversation);
      return (await quarantine(entry, why)) ? { shard, set: setOf(entry), name: memberOf(entry), why } : undefined;
    },
    quarantineRecord: bind(quarantineRecordScript),
    sweepShards: (shards, limit) => sweeps.sweep(shards, limit),
    sweepDue: (now, limit) => sweeps.sweepDue(keyspace.shardNumbers(), now, limit),
    holdSweeping: async (owner, leaseMs) => {
      const held = await answerWithin(hold(owner, leaseMs), LEASE_SILENT_MS);
      return held.isSilent ? Number.POSITIVE_INFINITY : held.answer;
    },
    lapseLeases: (worker) => sweeps.lapse(keyspace.shardNumbers(), worker),
    inspectTurn: (conversation) => inspect(conversation, 'turn'),
    inspectPass: (conversation) => inspect(conversation, 'pass'),
    recordWake: async ({ kind, conversation }, wake) =>
      (kind === 'turn' || kind === 'pass') && (await record(conversation, kind, wake)),
    promoteScheduled: bind(promoteScheduledScript),
    expire: bindExpire(bind(expireScript), bindRestoreIndex(redis, keyspace)),
    measureShards: async () => joinMeasures(await awaitShards(keyspace.shardNumbers().map((shard) => measure(shard)))),
  };
}

/** Milliseconds after which the server of the sweeping lease counts as silent. */
const LEASE_SILENT_MS = 300;
/** Allowance in ms for clock differences between the masters of a Cluster. */
const CLOCK_MARGIN_MS = 1_000;

/** Smallest number of lists that are asked for together. In a busy database, most of them exist. */
const LISTS_AT_ONCE = 16;

interface DueReader {
  readonly redis: Redis;
  readonly existing: ExistingKeys;
}

/**
 * Finds out whether a shard needs its script of ten commands. The script reports an unreadable list. An idle shard has
 * no list, and one or two commands find this out for all shards. In a Cluster, no command reads the keys of several shards.
 */
async function isDue({ redis, existing }: DueReader, list: string, now: number): Promise<boolean> {
  try {
    if (!redis.isCluster && !(await existing.ask(list))) return false;
    const [, score] = await redis.zrange(list, '0', '0', 'WITHSCORES');
    return score !== undefined && Number(score) <= now + (redis.isCluster ? CLOCK_MARGIN_MS : 0);
  } catch {
    return true;
  }
}

type SweepReply = [due: string[], setAside: string[]];

/** Script that runs the part of a sweep that a full Redis allows: it returns idle conversations to expire. */
const sweepIdleScript: ScriptDefinition<[shard: number], ShardSweep> = {
  file: 'sweep-idle',
  keys: ([shard], keyspace) => [keyspace.sweep(shard), keyspace.idle(shard)],
  args: ([shard], keyspace) => [SWEEP_CLAIM_MS, keyspace.shardPrefix(shard)],
  decode: (reply, [shard]) => decodeSweep(reply as SweepReply, shard),
};

const sweepShardScript: ScriptDefinition<[shard: number, limit: number], ShardSweep> = {
  file: 'sweep-shard',
  keys: ([shard], keyspace) => [
    keyspace.sweep(shard),
    keyspace.ready(shard),
    keyspace.idle(shard),
    keyspace.openPasses(shard),
    keyspace.failed(shard),
  ],
  args: ([shard, limit], keyspace) => [limit, keyspace.shardPrefix(shard), SWEEP_CLAIM_MS],
  decode: (reply, [shard]) => decodeSweep(reply as SweepReply, shard),
};

/** Script that ends the leases of a dead worker in one shard. */
const lapseLeasesScript: ScriptDefinition<[shard: number, worker: string], ShardSweep> = {
  file: 'lapse-leases',
  keys: ([shard], keyspace) => [keyspace.ready(shard)],
  args: ([shard, worker], keyspace) => [keyspace.shardPrefix(shard), ownerPrefix(worker), claimsOf(worker)],
  decode: (reply) => ({ due: (reply as string[]).map(decodeDueEntry), setAside: [] }),
};

function decodeSweep([due, texts]: SweepReply, shard: number): ShardSweep {
  return { due: due.map(decodeDueEntry), setAside: [...readSetAside(texts, shard)] };
}

/** Reads what the script quarantined: triples of set, name and reason. */
function* readSetAside(texts: readonly string[], shard: number): Generator<QuarantineEntry> {
  for (let at = 0; at + 2 < texts.length; at += 3) {
    const [setName, name = '', why = ''] = texts.slice(at, at + 3);
    const set = QUARANTINE_SETS.find((known) => known === setName);
    if (set !== undefined) yield { shard, set, name, why };
  }
}

const KINDS: Readonly<Record<string, DueEntry['kind']>> = { t: 'turn', p: 'pass', d: 'scheduled', r: 'idle' };

/**
 * Decodes a member of the sets `ready` or `idle`: `t|tenant|id` (mailbox), `p|tenant|id` (pass), `d|tenant|id|turn`
 * (scheduled turn), `r|tenant|id` (idle conversation). Ids contain no `|`.
 */
export function decodeDueEntry(member: string): DueEntry {
  const [letter = '', tenant = '', id = '', turn] = member.split('|');
  const kind = KINDS[letter];
  if (kind === undefined)
    throw new Error(
      `"${member}" must begin with t (turn), p (compaction pass), d (scheduled turn) or r (idle conversation)`,
    );
  return { kind, conversation: { tenant, id }, ...(turn !== undefined && { turn }) };
}

/** True for a member of `ready` in a form that scripts write. The sweep quarantines any other member. */
export function isDueEntry(member: string): boolean {
  return /^(([tp]\|[\w.-]+\|[\w.-]+)|(d\|[\w.-]+\|[\w.-]+\|[\w.-]+))$/.test(member);
}

type Kind = 'turn' | 'pass';

const inspectScript: ScriptDefinition<[conversation: ConversationRef, kind: Kind], SweepDecision> = {
  file: 'inspect',
  args: ([, kind]) => [kind],
  decode: (reply) => {
    const answer = reply as ['quiet'] | ['lapsed', string, 0 | 1];
    if (answer[0] === 'quiet') return { status: 'quiet' };
    const [status, recordedWake, hadWorker] = answer;
    return { status, hadWorker: hadWorker === 1, ...(recordedWake !== '' && { recordedWake }) };
  },
};

const recordWakeScript: ScriptDefinition<[conversation: ConversationRef, kind: Kind, wake: string], boolean> = {
  file: 'record-wake',
  args: ([, kind, wake]) => [kind, wake],
  decode: (reply) => reply === 1,
};

const promoteScheduledScript: ScriptOf<SweepStore['promoteScheduled']> = {
  file: 'promote-scheduled',
  args: ([, turn, wake]) => [turn, wake],
  decode: (reply) => ({ needsWake: reply === 1 }),
};

/**
 * Maximum batches of keys that one call removes. Each batch takes about a millisecond. A conversation with 100,000 keys
 * has 500 batches, and one call that removed all of them would delay other conversations.
 */
const MOST_BATCHES = 10;

/**
 * Binds the script that expires a conversation. One call removes at most `MOST_BATCHES` batches of keys, and a later
 * call the rest. If the conversation is created again between two batches, the next batch removes nothing.
 * An index that does not name all keys is restored first.
 */
function bindExpire(
  run: (...step: ExpireStep) => Promise<ExpireProgress>,
  restoreIndex: (conversation: ConversationRef) => Promise<void>,
): SweepStore['expire'] {
  return async (conversation, owner) => {
    let result = await run(conversation, owner, false);
    for (let batches = 1; result.status === 'more' || result.status === 'unlisted'; batches += 1) {
      if (batches >= MOST_BATCHES) return { status: 'more' };
      const isRestored = result.status === 'unlisted';
      if (isRestored) await restoreIndex(conversation);
      result = await run(conversation, owner, isRestored);
    }
    return result;
  };
}

type ExpireStep = [conversation: ConversationRef, owner: string, isRestored: boolean];
/** `unlisted`: the index of the conversation does not name all of its keys, so it must be restored before the erase goes on. */
type ExpireProgress = ExpireResult | { readonly status: 'unlisted' };

/** Script that removes one batch of keys of an expired conversation. */
export const expireScript: ScriptDefinition<ExpireStep, ExpireProgress> = {
  file: 'expire',
  args: ([, owner, isRestored]) => [owner, ERASE_BATCH, GONE_MS, isRestored ? 1 : 0],
  decode: (reply) => {
    const answer = reply as ['expired', number] | [Exclude<ExpireProgress['status'], 'expired'>];
    return answer[0] === 'expired' ? { status: 'expired', removedKeys: answer[1] } : { status: answer[0] };
  },
};

const quarantineScript: ScriptDefinition<[entry: DueEntry, why: string], boolean> = {
  file: 'quarantine',
  keys: ([entry], keyspace) => [keyspace[setOf(entry)](keyspace.shardOf(entry.conversation))],
  args: ([entry, why], keyspace) => {
    const shard = keyspace.shardOf(entry.conversation);
    return [keyspace.shardPrefix(shard), setOf(entry), memberOf(entry), why];
  },
  decode: (reply) => reply === 1,
};

function setOf({ kind }: DueEntry): 'idle' | 'ready' {
  return kind === 'idle' ? 'idle' : 'ready';
}

function memberOf({ kind, conversation, turn = '' }: DueEntry): string {
  if (kind === 'idle') return idleMember(conversation);
  return kind === 'scheduled'
    ? scheduledMember(conversation, turn)
    : readyMember(kind === 'turn' ? 't' : 'p', conversation);
}

const quarantineRecordScript: ScriptOf<SweepStore['quarantineRecord']> = {
  file: 'set-record-aside',
  args: ([, { key, why, wakeTurn }]) => [key, why, wakeTurn],
  decode: (reply, [conversation, { key }], keyspace) => {
    const answer = reply as ['kept'] | ['set_aside', string, number];
    if (answer[0] === 'kept') return undefined;
    const [, why, needsWake] = answer;
    const setAside: QuarantineEntry = { shard: keyspace.shardOf(conversation), set: 'key', name: key, why };
    return { setAside, needsWake: needsWake === 1 };
  },
};
