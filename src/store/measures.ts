import type { Redis } from 'ioredis';
import { measureServerLoad, pingServers, type ServerLoad } from '../redis/server-facts.ts';
import type { Keyspace } from './keys.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

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
  const hold = bindScript(redis, holdMeasuring(keyspace));
  return {
    measureServers: () => measureServerLoad(redis),
    ping: () => pingServers(redis),
    holdMeasuring: (owner, leaseMs) => hold({ owner, leaseMs }),
  };
}

interface Hold {
  readonly owner: string;
  /** 0 gives the lease back. */
  readonly leaseMs: number;
}

function holdMeasuring(keyspace: Keyspace): ScriptDefinition<Hold, boolean> {
  return {
    file: 'hold-measuring',
    keys: () => [keyspace.measuring()],
    args: ({ owner, leaseMs }) => [owner, leaseMs],
    decode: (reply) => reply === 1,
  };
}
