import type { Redis } from 'ioredis';
import { TURN_LIMITS } from '../domain/turn.ts';
import type { DueEntry } from './due-work.ts';
import { listGates } from './gates.ts';
import type { Keyspace } from './keys.ts';
import { bindLease } from './lease.ts';
import { listMissingAgents } from './missing-agents.ts';
import { outageBecause } from './redis/errors.ts';
import { measureServerLoad, pingServers, readClock } from './redis/server-facts.ts';
import { answerWithin, MEASURED_MS } from './redis/servers.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

export function openMeasures(redis: Redis, keyspace: Keyspace) {
  const hold = bindLease(redis, keyspace, keyspace.measuring());
  return {
    measureServers: () => measureServerLoad(redis),
    listMissingAgents: async () => await listMissingAgents(redis, keyspace, await readClock(redis)),
    listGates: () => listGates(redis, keyspace),
    ping: () => pingServers(redis),
    /** Takes or renews the lease under which one worker measures for all workers. 0 ms gives the lease back. */
    holdMeasuring: async (owner: string, leaseMs: number): Promise<boolean> =>
      (await hold(owner, leaseMs)) !== undefined,
  };
}

const COUNTED = 1_000;

/** Backlog of a shard. Ages are in ms. An age is 0 if no work of its kind exists. */
export interface ShardMeasure {
  readonly overdue: Readonly<Record<DueEntry['kind'], number>>;
  /** Age of the oldest overdue work. Erases are left out, because they may take long. */
  readonly oldestOverdueMs: number;
  readonly openPasses: number;
  readonly oldestOpenPassMs: number;
  readonly failedTurns: number;
  readonly oldestIdleMs: number;
  readonly quarantined: number;
}

const measureShardScript: ScriptDefinition<[shard: number], ShardMeasure> = {
  file: 'measure-shard',
  keys: ([shard], keyspace) => ({
    ready: keyspace.ready(shard),
    openPasses: keyspace.openPasses(shard),
    failed: keyspace.failed(shard),
    idle: keyspace.idle(shard),
    quarantined: keyspace.quarantined(shard),
  }),
  args: () => ({ limit: COUNTED, retentionMs: TURN_LIMITS.turnRetentionMs }),
  decode: (reply) => {
    const counts = reply as [number, number, number, number, number, number, number, number, number, number];
    const [turn, pass, scheduled, oldestOverdueMs, ...rest] = counts;
    const [openPasses, oldestOpenPassMs, failedTurns, idle, oldestIdleMs, quarantined] = rest;
    const overdue = { turn, pass, scheduled, idle };
    return { overdue, oldestOverdueMs, openPasses, oldestOpenPassMs, failedTurns, oldestIdleMs, quarantined };
  },
};

/**
 * Shards that do not answer are left out.
 * @throws redis_unavailable if no shard answers
 */
export function bindMeasureShards(redis: Redis, keyspace: Keyspace): () => Promise<ShardMeasure> {
  const measure = scriptBinder(redis, keyspace)(measureShardScript);
  return async () => {
    const replies = await Promise.all(
      keyspace.shardNumbers().map((shard) => answerWithin(measure(shard), MEASURED_MS)),
    );
    const answers = replies.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
    if (answers.length === 0) throw outageBecause('no shard (part of the database) answered the measurement');
    return joinMeasures(answers);
  };
}

function joinMeasures(shards: readonly ShardMeasure[]): ShardMeasure {
  const sum = (of: (shard: ShardMeasure) => number): number => shards.reduce((total, shard) => total + of(shard), 0);
  const most = (of: (shard: ShardMeasure) => number): number => Math.max(0, ...shards.map(of));
  return {
    overdue: {
      turn: sum(({ overdue }) => overdue.turn),
      pass: sum(({ overdue }) => overdue.pass),
      scheduled: sum(({ overdue }) => overdue.scheduled),
      idle: sum(({ overdue }) => overdue.idle),
    },
    oldestOverdueMs: most(({ oldestOverdueMs }) => oldestOverdueMs),
    openPasses: sum(({ openPasses }) => openPasses),
    oldestOpenPassMs: most(({ oldestOpenPassMs }) => oldestOpenPassMs),
    failedTurns: sum(({ failedTurns }) => failedTurns),
    oldestIdleMs: most(({ oldestIdleMs }) => oldestIdleMs),
    quarantined: sum(({ quarantined }) => quarantined),
  };
}
