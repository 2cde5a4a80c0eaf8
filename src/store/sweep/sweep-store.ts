import type { Redis } from 'ioredis';
import { isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import type { DueEntry, SweepStore } from '../../domain/ports/sweep-store.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { bindExpire, expireBatch } from './expire.ts';
import { inspect } from './inspect.ts';
import { joinMeasures, measureShard } from './measure-shard.ts';
import { promoteTurn } from './promote.ts';
import { recordWake } from './record-wake.ts';
import { sweepResting, sweepShard } from './sweep-shard.ts';

/** What is due, in Redis. One script a shard; the connection sends those of one call together. */
export function openSweepStore(redis: Redis, keyspace: Keyspace): SweepStore {
  const sweep = bindScript(redis, sweepShard(keyspace));
  const makeRoom = bindScript(redis, sweepResting(keyspace));
  const look = bindScript(redis, inspect(keyspace));
  const record = bindScript(redis, recordWake(keyspace));
  const promote = bindScript(redis, promoteTurn(keyspace));
  const measure = bindScript(redis, measureShard(keyspace));
  return {
    shards: keyspace.shards,
    async sweepShards(shards, limit) {
      let refusal: TurnfoldError | undefined;
      const sweepOne = (shard: number): Promise<DueEntry[]> =>
        sweep({ shard, limit }).catch((error: unknown) => {
          if (!isTurnfoldError(error, 'redis_full')) throw error;
          refusal = error;
          return makeRoom(shard);
        });
      const due = (await Promise.all(shards.map(sweepOne))).flat();
      if (refusal !== undefined && due.length === 0) throw refusal;
      return due;
    },
    inspectTurn: (conversation) => look({ kind: 'turn', conversation }),
    inspectPass: (conversation) => look({ kind: 'pass', conversation }),
    recordWake: async ({ kind, conversation }, wake) =>
      (kind === 'turn' || kind === 'pass') && (await record({ kind, conversation, wake })),
    promoteScheduled: (conversation, turn, wake) => promote({ conversation, turn, wake }),
    expire: bindExpire(bindScript(redis, expireBatch(keyspace))),
    measureShards: async () => joinMeasures(await Promise.all(keyspace.shardNumbers().map((shard) => measure(shard)))),
  };
}
