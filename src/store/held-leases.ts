import type { Redis } from 'ioredis';
import { ownerPrefix } from '../domain/ids.ts';
import { LOST_AFTER_MS } from '../domain/lease.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import type { RedisLocation } from './redis/address.ts';
import { openConnection } from './redis/connection.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { claimsOf } from './summaries.ts';

export interface HeldLeasesOptions extends RedisLocation {
  readonly shards: number;
  readonly worker: string;
  /** Owner of the only turn that this process runs. Absent: the leases of all owners of the worker are extended. */
  readonly owner?: string | undefined;
}

/** @throws invalid_config */
export function connectHeldLeases(options: HeldLeasesOptions) {
  const redis = openConnection(options);
  const keyspace = new Keyspace(options.shards, options.prefix);
  return { ...openHeldLeases(redis, keyspace, options), close: () => redis.disconnect() };
}

export function openHeldLeases(
  redis: Redis,
  keyspace: Keyspace,
  { worker, owner }: Pick<HeldLeasesOptions, 'worker' | 'owner'>,
) {
  const extend = scriptBinder(redis, keyspace)(extendLeasesScript);
  const held = { owners: owner ?? ownerPrefix(worker), claims: claimsOf(worker) };
  const inAllShards = async (cause: string): Promise<void> =>
    void (await Promise.all(keyspace.shardNumbers().map((shard) => extend(shard, held, cause))));
  return {
    /** Extends leases of turns and passes, claims on summaries, and the entry in the list of workers. */
    extend: async (): Promise<void> => {
      const renewed = owner === undefined && callStore(() => redis.pexpire(keyspace.worker(worker), LOST_AFTER_MS));
      await Promise.all([renewed, inAllShards('')]);
    },
    /**
     * Stores the cause of a block with each turn of the worker, and extends nothing. If the turn fails as poison before
     * another worker has begun the turn, its failure names the cause.
     * @param cause a sentence without its period
     */
    keepCause: (cause: string) => inAllShards(cause),
  };
}

interface Held {
  readonly owners: string;
  readonly claims: string;
}

const extendLeasesScript: ScriptDefinition<[shard: number, held: Held, cause: string], unknown> = {
  file: 'extend-leases',
  keys: ([shard], keyspace) => ({ ready: keyspace.ready(shard) }),
  args: ([shard, { owners, claims }, cause], keyspace) => ({
    shard: keyspace.shardPrefix(shard),
    owners,
    claims,
    leaseMs: TURN_LIMITS.leaseMs,
    parkMs: PASS_LIMITS.parkMs,
    cause,
  }),
  decode: (reply) => reply,
};
