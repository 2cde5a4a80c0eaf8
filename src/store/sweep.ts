import type { Redis } from 'ioredis';
import { type ConversationRef, ownerPrefix } from '../domain/ids.ts';
import { QUARANTINE_SETS, type QuarantineEntry } from '../domain/quarantine.ts';
import { type DueEntry, decodeDueEntry, inspectScript, promoteScheduledScript, recordWakeScript } from './due-work.ts';
import { bindExpire, bindRestoreIndex, expireScript } from './erase.ts';
import { ExistingKeys } from './existing-keys.ts';
import type { Keyspace } from './keys.ts';
import { bindLease, type HoldLease } from './lease.ts';
import { bindMeasureShards } from './measures.ts';
import { bindQuarantine, quarantineRecordScript, quarantineScript } from './quarantine.ts';
import { answerWithin } from './redis/servers.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { type ShardSweep, ShardSweeps } from './shard-sweeps.ts';
import { claimsOf } from './summaries.ts';

export function openSweepStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  const existing = new ExistingKeys(redis, LISTS_AT_ONCE);
  const sweeps = new ShardSweeps({
    sweep: bind(sweepShardScript),
    makeRoom: bind(sweepIdleScript),
    lapse: bind(lapseLeasesScript),
    isDue: (shard, now, list) => isDue({ redis, existing }, keyspace[list](shard), now),
  });
  const inspect = bind(inspectScript);
  const record = bind(recordWakeScript);
  return {
    shards: keyspace.shards,
    quarantine: bindQuarantine(bind(quarantineScript), keyspace),
    quarantineRecord: bind(quarantineRecordScript),
    /**
     * Claims due entries of shards. A returned entry becomes due again after 1 s, doubling up to 60 s. The call ends
     * within about a second.
     */
    sweepShards: (shards: readonly number[], limit: number) => sweeps.sweep(shards, limit),
    sweepDue: (now: number, limit: number) => sweeps.sweepDue(keyspace.shardNumbers(), now, limit),
    holdSweeping: bindHoldSweeping(redis, keyspace),
    /**
     * Ends all leases of a dead worker, and its claims on summaries. Owners and epochs stay, so a worker that is alive
     * after all continues or is fenced (I8).
     * @returns the due work of the shards that answer in time
     */
    lapseLeases: (worker: string) => sweeps.lapse(keyspace.shardNumbers(), worker),
    inspectTurn: (conversation: ConversationRef) => inspect(conversation, 'turn'),
    inspectPass: (conversation: ConversationRef) => inspect(conversation, 'pass'),
    /**
     * Stores the id of the queue job that the sweeper is about to add. False if a worker has claimed the work
     * meanwhile.
     */
    recordWake: async ({ kind, conversation }: DueEntry, wake: string): Promise<boolean> =>
      (kind === 'turn' || kind === 'pass') && (await record(conversation, kind, wake)),
    promoteScheduled: bind(promoteScheduledScript),
    expire: bindExpire(bind(expireScript), bindRestoreIndex(redis, keyspace)),
    measureShards: bindMeasureShards(redis, keyspace),
  };
}

export type SweepStore = ReturnType<typeof openSweepStore>;

const LEASE_SILENT_MS = 300;

/**
 * Takes the lease of the one process that sweeps for all. While the server of the lease does not answer, every process
 * gets this lease. The shard claims then keep sweeps a second apart.
 * @returns Redis' time in ms if `owner` has the lease (Infinity while the server of the lease is unreachable), or
 * undefined
 */
function bindHoldSweeping(redis: Redis, keyspace: Keyspace): HoldLease {
  const hold = bindLease(redis, keyspace, keyspace.sweeping());
  return async (owner, leaseMs) => {
    const held = await answerWithin(hold(owner, leaseMs), LEASE_SILENT_MS);
    return held.isSilent ? Number.POSITIVE_INFINITY : held.answer;
  };
}

/** Margin for clock differences between the masters of a Cluster. */
const CLOCK_MARGIN_MS = 1_000;

/** Smallest group of lists whose existence is checked together. In a busy database most lists exist. */
const LISTS_AT_ONCE = 16;

interface DueReader {
  readonly redis: Redis;
  readonly existing: ExistingKeys;
}

/**
 * True if a list of a shard has due work. The script of a shard runs ten commands. An idle shard has no list, and one
 * or two commands find this out for all shards. In a Cluster, no command reads the keys of several shards. An
 * unreadable list counts as due: the script reports it.
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

/** ms between two sweeps of the same shard. */
const SWEEP_CLAIM_MS = 1_000;

const sweepIdleScript: ScriptDefinition<[shard: number], ShardSweep> = {
  file: 'sweep-idle',
  keys: ([shard], keyspace) => ({ claim: keyspace.sweep(shard), idle: keyspace.idle(shard) }),
  args: ([shard], keyspace) => ({ claimMs: SWEEP_CLAIM_MS, shard: keyspace.shardPrefix(shard) }),
  decode: (reply, [shard]) => decodeSweep(reply as SweepReply, shard),
};

const sweepShardScript: ScriptDefinition<[shard: number, limit: number], ShardSweep> = {
  file: 'sweep-shard',
  keys: ([shard], keyspace) => ({
    claim: keyspace.sweep(shard),
    ready: keyspace.ready(shard),
    idle: keyspace.idle(shard),
    openPasses: keyspace.openPasses(shard),
    failed: keyspace.failed(shard),
  }),
  args: ([shard, limit], keyspace) => ({ limit, shard: keyspace.shardPrefix(shard), claimMs: SWEEP_CLAIM_MS }),
  decode: (reply, [shard]) => decodeSweep(reply as SweepReply, shard),
};

const lapseLeasesScript: ScriptDefinition<[shard: number, worker: string], ShardSweep> = {
  file: 'lapse-leases',
  keys: ([shard], keyspace) => ({ ready: keyspace.ready(shard) }),
  args: ([shard, worker], keyspace) => ({
    shard: keyspace.shardPrefix(shard),
    owners: ownerPrefix(worker),
    claims: claimsOf(worker),
  }),
  decode: (reply) => ({ due: (reply as string[]).map(decodeDueEntry), setAside: [] }),
};

function decodeSweep([due, texts]: SweepReply, shard: number): ShardSweep {
  return { due: due.map(decodeDueEntry), setAside: [...readSetAside(texts, shard)] };
}

/** Reads triples of set, name and reason. */
function* readSetAside(texts: readonly string[], shard: number): Generator<QuarantineEntry> {
  for (let at = 0; at + 2 < texts.length; at += 3) {
    const [setName, name = '', why = ''] = texts.slice(at, at + 3);
    const set = QUARANTINE_SETS.find((known) => known === setName);
    if (set !== undefined) yield { shard, set, name, why };
  }
}
