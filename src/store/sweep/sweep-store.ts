import type { Redis } from 'ioredis';
import type { SweepStore } from '../../domain/ports/sweep-store.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { bindExpire, expireBatch } from './expire.ts';
import { inspect } from './inspect.ts';
import { hearShards, joinMeasures, measureShard } from './measure-shard.ts';
import { promoteTurn } from './promote.ts';
import { memberOf, quarantine } from './quarantine.ts';
import { recordWake } from './record-wake.ts';
import { quarantineRecord } from './set-record-aside.ts';
import { ShardSweeps } from './shard-sweeps.ts';
import { sweepIdle, sweepShard } from './sweep-shard.ts';

/** What is due, in Redis. One script a shard; the connection sends those of one call together. */
export function openSweepStore(redis: Redis, keyspace: Keyspace): SweepStore {
  const sweep = bindScript(redis, sweepShard(keyspace));
  const sweeps = new ShardSweeps({
    sweep: (shard, limit) => sweep({ shard, limit }),
    makeRoom: bindScript(redis, sweepIdle(keyspace)),
  });
  const look = bindScript(redis, inspect(keyspace));
  const record = bindScript(redis, recordWake(keyspace));
  const promote = bindScript(redis, promoteTurn(keyspace));
  const measure = bindScript(redis, measureShard(keyspace));
  const setAside = bindScript(redis, quarantine(keyspace));
  const setRecord = bindScript(redis, quarantineRecord(keyspace));
  return {
    shards: keyspace.shards,
    quarantine: async (entry, why) => {
      const set = entry.kind === 'idle' ? 'idle' : 'ready';
      const shard = keyspace.shardOf(entry.conversation);
      return (await setAside({ entry, why })) ? { shard, set, name: memberOf(entry), why } : undefined;
    },
    quarantineRecord: (conversation, request) => setRecord({ conversation, request }),
    sweepShards: (shards, limit) => sweeps.sweep(shards, limit),
    inspectTurn: (conversation) => look({ kind: 'turn', conversation }),
    inspectPass: (conversation) => look({ kind: 'pass', conversation }),
    recordWake: async ({ kind, conversation }, wake) =>
      (kind === 'turn' || kind === 'pass') && (await record({ kind, conversation, wake })),
    promoteScheduled: (conversation, turn, wake) => promote({ conversation, turn, wake }),
    expire: bindExpire(bindScript(redis, expireBatch(keyspace))),
    measureShards: async () => joinMeasures(await hearShards(keyspace.shardNumbers().map((shard) => measure(shard)))),
  };
}
