import type { Redis } from 'ioredis';
import { type GateState, listGates } from './gates.ts';
import type { Keyspace } from './keys.ts';
import { bindLease } from './lease.ts';
import { listMissingAgents, type MissingAgent } from './missing-agents.ts';
import { measureServerLoad, pingServers, readClock, type ServerLoad } from './redis/server-facts.ts';

/** Measures Redis for the gauges of the metrics page. */
export interface StoreMeasures {
  /** Measures the memory use of the servers that answer. Undefined if every server forbids INFO. */
  measureServers(): Promise<ServerLoad | undefined>;
  /** Lists the agents that have work, and that no running worker has. */
  listMissingAgents(): Promise<MissingAgent[]>;
  /** Lists the gates of models that hold calls, or did so within the last minute. */
  listGates(): Promise<GateState[]>;
  /**
   * Resolves once every server has answered a ping.
   * @throws redis_unavailable if a server does not answer
   */
  ping(): Promise<void>;
  /**
   * Claims or renews the lease under which one worker measures the gauges for all workers. Returns true if `owner` has
   * the lease now. With 0 ms the lease is given back.
   */
  holdMeasuring(owner: string, leaseMs: number): Promise<boolean>;
}

export function openMeasures(redis: Redis, keyspace: Keyspace): StoreMeasures {
  const hold = bindLease(redis, keyspace, keyspace.measuring());
  return {
    measureServers: () => measureServerLoad(redis),
    listMissingAgents: async () => await listMissingAgents(redis, keyspace, await readClock(redis)),
    listGates: () => listGates(redis, keyspace),
    ping: () => pingServers(redis),
    holdMeasuring: async (owner, leaseMs) => (await hold(owner, leaseMs)) !== undefined,
  };
}
