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

/** Opens the measurements of Redis for the gauges of the metrics page. */
export function openMeasures(redis: Redis, keyspace: Keyspace) {
  const hold = bindLease(redis, keyspace, keyspace.measuring());
  return {
    measureServers: () => measureServerLoad(redis),
    listMissingAgents: async () => await listMissingAgents(redis, keyspace, await readClock(redis)),
    listGates: () => listGates(redis, keyspace),
    ping: () => pingServers(redis),
    /**
     * Claims or renews the lease under which one worker measures for all workers. Returns true if `owner` has the lease
     * now. With 0 ms the lease is given back.
     */
    holdMeasuring: async (owner: string, leaseMs: number): Promise<boolean> =>
      (await hold(owner, leaseMs)) !== undefined,
  };
}

export type StoreMeasures = ReturnType<typeof openMeasures>;

/** Maximum overdue entries of one shard that are counted by kind. */
const COUNTED = 1_000;

/** Backlog of all shards. Ages are in ms, 0 if nothing has that age. */
export interface ShardMeasure {
  /** Number of entries that are overdue, by kind. */
  readonly overdue: Readonly<Record<DueEntry['kind'], number>>;
  /**
   * Age of the oldest overdue turn, compaction pass or scheduled turn. Erases are not included, because they may take
   * long.
   */
  readonly oldestOverdueMs: number;
  /** Number of compaction passes that are requested or in progress, without those that wait for a person's decision. */
  readonly openPasses: number;
  /** Milliseconds since the oldest open compaction pass was requested. */
  readonly oldestOpenPassMs: number;
  /** Number of stored failed turns, including those that were run again. */
  readonly failedTurns: number;
  /** Milliseconds since the most overdue idle conversation should have been erased. */
  readonly oldestIdleMs: number;
  /** Number of unreadable records that are set aside until a person repairs or deletes them. */
  readonly quarantined: number;
}

const measureShardScript: ScriptDefinition<[shard: number], ShardMeasure> = {
  file: 'measure-shard',
  keys: ([shard], keyspace) => [
    keyspace.ready(shard),
    keyspace.openPasses(shard),
    keyspace.failed(shard),
    keyspace.idle(shard),
    keyspace.quarantined(shard),
  ],
  args: () => [COUNTED, TURN_LIMITS.turnRetentionMs],
  decode: (reply) => {
    const counts = reply as [number, number, number, number, number, number, number, number, number, number];
    const [turn, pass, scheduled, oldestOverdueMs, ...rest] = counts;
    const [openPasses, oldestOpenPassMs, failedTurns, idle, oldestIdleMs, quarantined] = rest;
    const overdue = { turn, pass, scheduled, idle };
    return { overdue, oldestOverdueMs, openPasses, oldestOpenPassMs, failedTurns, oldestIdleMs, quarantined };
  },
};

/**
 * Makes the function that measures the backlog of all shards. Shards that do not answer are left out.
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

/** Adds up the counts of all shards, and keeps the largest of the ages. */
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
