import type { Redis } from 'ioredis';
import { measureServerLoad, pingServers, type ServerLoad } from '../redis/server-facts.ts';
import type { Keyspace } from './keys.ts';
import { type ScriptOf, scriptBinder } from './script.ts';

/** Facts for gauges, beside the ports of the store. */
export interface StoreMeasures {
  /** Load of the servers that answer. Undefined if every server forbids the question. */
  measureServers(): Promise<ServerLoad | undefined>;
  /**
   * Resolves when every server has answered.
   * @throws redis_unavailable
   */
  ping(): Promise<void>;
  /** Leases the measuring of shared state. Returns true if the owner has the lease now. 0 ms gives it back. */
  holdMeasuring(owner: string, leaseMs: number): Promise<boolean>;
}

export function openMeasures(redis: Redis, keyspace: Keyspace): StoreMeasures {
  return {
    measureServers: () => measureServerLoad(redis),
    ping: () => pingServers(redis),
    holdMeasuring: scriptBinder(redis, keyspace)(holdMeasuringScript),
  };
}

const holdMeasuringScript: ScriptOf<StoreMeasures['holdMeasuring']> = {
  file: 'hold-measuring',
  keys: (_, keyspace) => [keyspace.measuring()],
  args: ([owner, leaseMs]) => [owner, leaseMs],
  decode: (reply) => reply === 1,
};
