import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { readClock } from './redis/server-facts.ts';
import { type BindScript, type ScriptDefinition, scriptBinder } from './script.ts';

/** ms for which a gate is kept after it last held a call back. Until then workers ask the gate before each call. */
const IDLE_MS = 60_000;
const PLACE_MS = 60_000;

/** Limit of listed gates. If names of models contain names of customers, there could be thousands of gates. */
const MAX_LISTED = 100;

/**
 * The gates of models. A gate is the pause, the rate and the places of calls in progress that all workers share for one
 * model. The keys of all gates are in one slot, because few calls are made while a provider limits them.
 * @param bind tests pass a function that binds scripts with a clock of their own
 */
export function openGateStore(redis: Redis, keyspace: Keyspace, bind: BindScript = scriptBinder(redis, keyspace)) {
  return {
    enterGate: bind(enterGateScript),
    leaveGate: bind(leaveGateScript),
    /** Renews the places of calls in progress. Without a renewal, a place ends a minute after its call began. */
    holdPlaces: async (gate: string, waiters: readonly string[]): Promise<void> => {
      if (waiters.length === 0) return;
      const until = (await readClock(redis)) + PLACE_MS;
      const { calls } = keyspace.gate(gate);
      await callStore(() => redis.zadd(calls, 'XX', ...waiters.flatMap((waiter) => [until, waiter])));
      await callStore(() => redis.pexpire(calls, PLACE_MS));
    },
    /**
     * Names the gates that hold calls back, by one small command. A gate that has ended is still named until a worker
     * asks that gate.
     */
    nameGates: () => callStore(() => redis.zrange(keyspace.gates(), `-${MAX_LISTED}`, '-1')),
    listGates: () => listGates(redis, keyspace),
  };
}

export type GateStore = ReturnType<typeof openGateStore>;

const gateKeys = (name: string, keyspace: Keyspace) => {
  const { state: gate, ...keys } = keyspace.gate(name);
  return { gate, ...keys, gates: keyspace.gates() };
};

export type GatePassage =
  /** The gate holds no calls back. The caller asks again only after a provider refused a call. */
  { readonly status: 'open' } | { readonly status: 'passed' } | { readonly status: 'held'; readonly waitMs: number };

export interface GateEntry {
  readonly gate: string;
  /** Id of the turn or summary that makes the call. The call keeps its place in the line under this id. */
  readonly waiter: string;
  readonly tokens: number;
  /**
   * ms that the caller can wait in its worker. For a longer wait, the caller leaves its worker and comes back later.
   */
  readonly patienceMs: number;
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
  readonly concurrent?: number | undefined;
}

const enterGateScript: ScriptDefinition<[entry: GateEntry], GatePassage> = {
  file: 'enter-gate',
  keys: ([{ gate }], keyspace) => gateKeys(gate, keyspace),
  args: ([{ gate, waiter, tokens, patienceMs, ...limits }]) => {
    const { requestsPerMinute = 0, tokensPerMinute = 0, concurrent = 0 } = limits;
    const waits = { waiter, tokens, patienceMs, idleMs: IDLE_MS, placeMs: PLACE_MS };
    return { name: gate, ...waits, requestsPerMinute, tokensPerMinute, concurrent };
  },
  decode: (reply) =>
    typeof reply === 'number' ? { status: 'held', waitMs: reply } : { status: reply === 'open' ? 'open' : 'passed' },
};

/** Report about a call that passed a gate and has ended, or about a caller that gives up its place. */
export interface GateReport {
  readonly gate: string;
  readonly waiter: string;
  /**
   * - `limited`: the provider limits calls or is overloaded.
   * - `refused`: the provider refused the call, but answers most other calls.
   * - `left`: the caller no longer waits, and made no call.
   */
  readonly outcome: 'answered' | 'limited' | 'refused' | 'failed' | 'left';
  readonly callMs: number;
  /** ms after which the provider allows the next call. Absent if the provider named no time. */
  readonly retryAfterMs?: number | undefined;
}

const leaveGateScript: ScriptDefinition<[report: GateReport], number> = {
  file: 'leave-gate',
  keys: ([{ gate }], keyspace) => gateKeys(gate, keyspace),
  args: ([{ gate, waiter, outcome, callMs, retryAfterMs }]) => ({
    name: gate,
    waiter,
    idleMs: IDLE_MS,
    outcome,
    callMs,
    retryAfterMs,
  }),
  decode: Number,
};

export interface GateState {
  readonly gate: string;
  readonly pausedMs: number;
  /** Calls a minute that the gate lets pass, learned from the provider. Undefined while the gate has no such limit. */
  readonly perMinute: number | undefined;
  readonly waiting: number;
}

export async function listGates(redis: Redis, keyspace: Keyspace): Promise<GateState[]> {
  const now = await readClock(redis);
  const names = await callStore(() => redis.zrange(keyspace.gates(), now, '+inf', 'BYSCORE', 'LIMIT', 0, MAX_LISTED));
  return await Promise.all(
    names.map(async (name) => {
      const { state, waiters } = keyspace.gate(name);
      const [fields, waiting] = await Promise.all([
        callStore(() => redis.hmget(state, 'paused', 'rate')),
        callStore(() => redis.zcard(waiters)),
      ]);
      const [paused = 0, rate = 0] = fields.map(Number);
      return {
        gate: name,
        pausedMs: Math.max(0, paused - now),
        perMinute: rate > 0 ? rate * 60_000 : undefined,
        waiting,
      };
    }),
  );
}
