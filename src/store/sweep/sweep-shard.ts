import type { DueEntry } from '../../domain/ports/sweep-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeDueEntry } from './due-entry.ts';

/** How long a swept shard is left alone, by all workers together. */
export const SWEEP_CLAIM_MS = 1_000;

interface ShardSweep {
  readonly shard: number;
  readonly limit: number;
}

/** For a Redis that is full. */
export function sweepResting(keyspace: Keyspace): ScriptDefinition<number, DueEntry[]> {
  return {
    file: 'sweep-resting',
    keys: (shard) => [keyspace.sweep(shard), keyspace.resting(shard)],
    args: () => [SWEEP_CLAIM_MS],
    decode: (reply) => (reply as string[]).map(decodeDueEntry),
  };
}

export function sweepShard(keyspace: Keyspace): ScriptDefinition<ShardSweep, DueEntry[]> {
  return {
    file: 'sweep-shard',
    keys: ({ shard }) => [
      keyspace.sweep(shard),
      keyspace.ready(shard),
      keyspace.resting(shard),
      keyspace.openPasses(shard),
    ],
    args: ({ shard, limit }) => [limit, keyspace.shardPrefix(shard), SWEEP_CLAIM_MS],
    decode: (reply) => (reply as string[]).map(decodeDueEntry),
  };
}
