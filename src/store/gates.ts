import type { Redis } from 'ioredis';
import type { GateState, GateStore } from '../domain/ports/gate-store.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { readClock } from './redis/server-facts.ts';
import { type BindScript, type ScriptOf, scriptBinder } from './script.ts';

/** ms for which a gate is kept after it held the last call. Until then workers ask it before each call. */
const IDLE_MS = 60_000;
/** ms for which a call keeps its place without a renewal. */
const PLACE_MS = 60_000;

/** Gates that are listed. Models with names of customers could have thousands. */
const MAX_LISTED = 100;

/**
 * Opens the gates of models. All of them have keys in one slot, because few calls are made while a provider limits them.
 * @param bind binds the scripts. Tests bind scripts with a clock of their own
 */
export function openGateStore(
  redis: Redis,
  keyspace: Keyspace,
  bind: BindScript = scriptBinder(redis, keyspace),
): GateStore {
  return {
    enterGate: bind(enterGateScript),
    leaveGate: bind(leaveGateScript),
    holdPlaces: async (gate, waiters) => {
      if (waiters.length === 0) return;
      const until = (await readClock(redis)) + PLACE_MS;
      const { calls } = keyspace.gate(gate);
      await callStore(() => redis.zadd(calls, 'XX', ...waiters.flatMap((waiter) => [until, waiter])));
      await callStore(() => redis.pexpire(calls, PLACE_MS));
    },
    // A gate that has ended is still named until a worker asks it.
    nameGates: () => callStore(() => redis.zrange(keyspace.gates(), `-${MAX_LISTED}`, '-1')),
    listGates: () => listGates(redis, keyspace),
  };
}

const gateKeys = (name: string, keyspace: Keyspace): string[] => {
  const { state, waiters, due, present, calls } = keyspace.gate(name);
  return [state, waiters, due, present, calls, keyspace.gates()];
};

const enterGateScript: ScriptOf<GateStore['enterGate']> = {
  file: 'enter-gate',
  keys: ([{ gate }], keyspace) => gateKeys(gate, keyspace),
  args: ([{ gate, waiter, tokens, patienceMs, ...limits }]) => {
    const { requestsPerMinute = 0, tokensPerMinute = 0, concurrent = 0 } = limits;
    return [gate, waiter, IDLE_MS, tokens, requestsPerMinute, tokensPerMinute, concurrent, PLACE_MS, patienceMs];
  },
  decode: (reply) =>
    typeof reply === 'number' ? { status: 'held', waitMs: reply } : { status: reply === 'open' ? 'open' : 'passed' },
};

const leaveGateScript: ScriptOf<GateStore['leaveGate']> = {
  file: 'leave-gate',
  keys: ([{ gate }], keyspace) => gateKeys(gate, keyspace),
  args: ([{ gate, waiter, outcome, callMs, retryAfterMs = '' }]) => [
    gate,
    waiter,
    IDLE_MS,
    outcome,
    callMs,
    retryAfterMs,
  ],
  decode: Number,
};

/** Lists the gates that hold calls, or did so within the last minute. */
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
