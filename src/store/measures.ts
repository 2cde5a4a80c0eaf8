import type { Redis } from 'ioredis';
import { measureServerLoad, pingServers, type ServerLoad } from '../redis/server-facts.ts';
import type { Keyspace } from './keys.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

/** What gauges need of Redis besides the store. */
export interface StoreMeasures {
  /** of those that answer; undefined where no server may be asked */
  measureServers(): Promise<ServerLoad | undefined>;
  /** ends when every server has answered. @throws redis_unavailable */
  ping(): Promise<void>;
  /** the lease on measuring the shared state: whether the owner holds it now; for 0 ms it gives it back */
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
  /** 0 gives it back */
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
