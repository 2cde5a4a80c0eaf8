import { QUARANTINE_SETS, type QuarantinedRecord } from '../../domain/ports/sweep-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeDueEntry } from './due-entry.ts';
import type { ShardSweep } from './shard-sweeps.ts';

/** How long a swept shard is left alone, by all workers together. */
export const SWEEP_CLAIM_MS = 1_000;

interface SweepRequest {
  readonly shard: number;
  readonly limit: number;
}

type Reply = [due: string[], setAside: string[]];

/** For a Redis that is full. */
export function sweepIdle(keyspace: Keyspace): ScriptDefinition<number, ShardSweep> {
  return {
    file: 'sweep-idle',
    keys: (shard) => [keyspace.sweep(shard), keyspace.idle(shard)],
    args: (shard) => [SWEEP_CLAIM_MS, keyspace.shardPrefix(shard)],
    decode: (reply, shard) => decodeSweep(reply as Reply, shard),
  };
}

export function sweepShard(keyspace: Keyspace): ScriptDefinition<SweepRequest, ShardSweep> {
  return {
    file: 'sweep-shard',
    keys: ({ shard }) => [
      keyspace.sweep(shard),
      keyspace.ready(shard),
      keyspace.idle(shard),
      keyspace.openPasses(shard),
      keyspace.failed(shard),
    ],
    args: ({ shard, limit }) => [limit, keyspace.shardPrefix(shard), SWEEP_CLAIM_MS],
    decode: (reply, { shard }) => decodeSweep(reply as Reply, shard),
  };
}

function decodeSweep([due, texts]: Reply, shard: number): ShardSweep {
  return { due: due.map(decodeDueEntry), setAside: [...readSetAside(texts, shard)] };
}

/** Set, name and reason in turn. */
function* readSetAside(texts: readonly string[], shard: number): Generator<QuarantinedRecord> {
  for (let at = 0; at + 2 < texts.length; at += 3) {
    const [given, name = '', why = ''] = texts.slice(at, at + 3);
    const set = QUARANTINE_SETS.find((known) => known === given);
    if (set !== undefined) yield { shard, set, name, why };
  }
}
