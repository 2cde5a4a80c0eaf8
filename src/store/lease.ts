import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/**
 * Takes a lease under which one worker does something for all workers. With 0 ms the lease is given back.
 * @returns Redis' time in ms if `owner` has the lease now, undefined if another worker has it
 */
export type HoldLease = (owner: string, leaseMs: number) => Promise<number | undefined>;

/** Most workers do not get the lease, and find this out by one command. The script would run several. */
export function bindLease(redis: Redis, keyspace: Keyspace, key: string): HoldLease {
  const hold = scriptBinder(redis, keyspace)(holdLeaseScript);
  let holder: string | undefined;
  return async (owner, leaseMs) => {
    if (owner !== holder && (await callStore(() => redis.pttl(key))) > 0) return undefined;
    const now = await hold(key, owner, leaseMs);
    holder = now === undefined ? undefined : owner;
    return now;
  };
}

const holdLeaseScript: ScriptDefinition<[key: string, owner: string, leaseMs: number], number | undefined> = {
  file: 'hold-lease',
  keys: ([lease]) => ({ lease }),
  args: ([, owner, leaseMs]) => ({ owner, leaseMs }),
  decode: (reply) => (reply === 0 ? undefined : (reply as number)),
};
