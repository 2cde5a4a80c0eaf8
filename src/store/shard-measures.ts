import { TURN_LIMITS } from '../domain/turn.ts';
import type { DueEntry } from './due-work.ts';
import { outageBecause } from './redis/errors.ts';
import { answerWithin, MEASURED_MS } from './redis/servers.ts';
import type { ScriptDefinition } from './script.ts';

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

export const measureShardScript: ScriptDefinition<[shard: number], ShardMeasure> = {
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
 * Awaits the measurements of all shards. Shards that do not answer are left out.
 * @throws redis_unavailable if no shard answers
 */
export async function awaitShards(measures: readonly Promise<ShardMeasure>[]): Promise<ShardMeasure[]> {
  const replies = await Promise.all(measures.map((measure) => answerWithin(measure, MEASURED_MS)));
  const answers = replies.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
  if (answers.length === 0) throw outageBecause('no shard (part of the database) answered the measurement');
  return answers;
}

/** Adds up the counts of all shards, and keeps the largest of the ages. */
export function joinMeasures(shards: readonly ShardMeasure[]): ShardMeasure {
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
