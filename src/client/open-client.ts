import { setTimeout as delay } from 'node:timers/promises';
import { monotonicFactory } from 'ulidx';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { openWakeQueue } from '../queue/wake-queue.ts';
import { isRefusal } from '../redis/errors.ts';
import { connectStore } from '../store/connect-store.ts';
import { readCurrentTrace } from '../telemetry/trace-parent.ts';
import { loadTokenCounter } from '../tokens/token-counter.ts';
import type { AnyAgents } from './agent-types.ts';
import { createClient, type TurnfoldClient } from './client.ts';
import { type ClientOptions, type ClientSettings, readClientOptions, readEncoding } from './client-options.ts';
import { storePorts } from './ports.ts';

/** Time limit of one attempt to connect. A caller with `failFast` gets its answer within a second. */
const OPEN_MS = 900;

/** A client with its connections. */
export interface OpenClient<Agents extends AnyAgents = AnyAgents> extends TurnfoldClient<Agents> {
  /** Closes the connections. Calls in flight fail. */
  close(): Promise<void>;
}

/**
 * Connects a service. While Redis is away, this call and every call of the client are retried for `deadlineMs`. With
 * `failFast` they fail within a second.
 * @throws invalid_config for an option, invalid_input for `durability`, both with the field and before any connection
 * @throws redis_unavailable, redis_denied, redis_full, incompatible_store
 */
export async function openClient<Agents extends AnyAgents = AnyAgents>(
  options: ClientOptions,
): Promise<OpenClient<Agents>> {
  const settings = readClientOptions(options);
  const client: OpenClient = await open(settings, settings.deadlineMs);
  return client as unknown as OpenClient<Agents>; // agent names and contexts exist only as types
}

/** Connects for an interactive command: without Redis, this call fails within a second. */
export async function openClientAtOnce(options: ClientOptions): Promise<OpenClient> {
  return await open(readClientOptions(options), 0);
}

async function open(settings: ClientSettings, openingMs: number): Promise<OpenClient> {
  const { redisUrl: url, redisTls: tls, shards, queueShards, encodingOf, onError, deadlineMs, ...durably } = settings;
  const connected = await callUntil(openingMs, () =>
    inTime(connectStore({ url, tls, shards, failsFast: true, onError, ...durably })),
  );
  const { notices, texts, close } = connected;
  const store = retryStore(connected.store, deadlineMs);
  const wakes = openWakeQueue({ url, tls, shards: queueShards, failsFast: true, onError });
  const next = monotonicFactory();
  // A failed wake must not fail the call: the write is in Redis, and the sweeper wakes its conversation within
  // seconds. A caller that saw an error might enqueue the turn again under another id.
  const client = createClient({
    ...storePorts(store),
    notices,
    texts,
    wakes: { wake: (...wake) => wakes.wake(...wake).catch(onError) },
    onError,
    counterFor: async (agent) => await loadTokenCounter(readEncoding(encodingOf(agent))),
    currentTrace: readCurrentTrace,
    ids: { next: () => next() },
    now: () => Date.now(),
  });
  return {
    ...client,
    async close() {
      await Promise.all([wakes.close(), close()]);
    },
  };
}

/**
 * Limits the wait for a server that accepts a connection and never answers. A connection that opens later is closed.
 */
async function inTime<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new TurnfoldError('redis_unavailable', `Redis does not answer: no answer within ${OPEN_MS} ms`));
  }, OPEN_MS);
  try {
    return await Promise.race([opening, deadline]);
  } catch (error) {
    opening.then((late) => late.close()).catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Redis usually accepts connections again 50 ms after it dropped one. */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 250;
/** Timeout of one command. */
const COMMAND_MS = 900;

/**
 * Retries a call while Redis is away, for at most `deadlineMs`. The call must be idempotent: each write of the store
 * is, by the ids in its input (I5). An attempt in flight at the deadline may end 0.9 s later.
 * @throws redis_unavailable after the deadline
 * @throws any other error, and refusals that waiting does not cure, at once
 */
async function callUntil<T>(deadlineMs: number, call: () => Promise<T>): Promise<T> {
  let until: number | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const startedAt = performance.now();
    try {
      return await call();
    } catch (error) {
      if (!isTurnfoldError(error, 'redis_unavailable') || isRefusal(error)) throw error;
      const failedAt = performance.now();
      // A call of many batches may have run for minutes before Redis went away. The deadline starts at the outage.
      until ??= Math.max(startedAt, failedAt - COMMAND_MS) + deadlineMs;
      // Jitter spreads the retries of all calls of a service, which see the outage begin at the same time.
      const waitMs = pauseMs * (0.5 + Math.random() / 2);
      if (failedAt + waitMs >= until) throw error;
      await delay(waitMs);
    }
  }
}

/** A store whose operations are retried while Redis is away. */
export function retryStore<Store extends object>(store: Store, deadlineMs: number): Store {
  const members = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (!isOperation(member)) return [name, member];
    return [name, (...input: unknown[]) => callUntil(deadlineMs, () => member(...input))];
  });
  return Object.fromEntries(members) as Store; // same names and types
}

function isOperation(member: unknown): member is (...input: unknown[]) => Promise<unknown> {
  return typeof member === 'function';
}
