import { monotonicFactory } from 'ulidx';
import { TurnfoldError } from '../domain/errors.ts';
import { openWakeQueue } from '../queue/wake-queue.ts';
import { connectStore } from '../store/connect-store.ts';
import { readCurrentTrace } from '../telemetry/trace-parent.ts';
import { loadTokenCounter } from '../tokens/token-counter.ts';
import type { AnyAgents } from './agent-types.ts';
import { createClient, type TurnfoldClient } from './client.ts';
import { type ClientOptions, type ClientSettings, readClientOptions, readEncoding } from './client-options.ts';
import { callUntil, retryStore } from './retries.ts';

/** Leaves the rest of a second to the caller. */
const OPEN_MS = 900;

/** A client with its connections. */
export interface OpenClient<Agents extends AnyAgents = AnyAgents> extends TurnfoldClient<Agents> {
  /** closes its connections; calls under way fail */
  close(): Promise<void>;
}

/**
 * Connects a service. While Redis is away, this call and every call of the client goes on trying for `deadlineMs`; with `failFast`
 * it fails within a second.
 * @throws invalid_config for an option, invalid_input for `durability`, each with the field, before anything is opened;
 * redis_unavailable; redis_denied, at once; redis_full; incompatible_store
 */
export async function openClient<Agents extends AnyAgents = AnyAgents>(
  options: ClientOptions,
): Promise<OpenClient<Agents>> {
  const settings = readClientOptions(options);
  const client: OpenClient = await open(settings, settings.deadlineMs);
  return client as unknown as OpenClient<Agents>; // names and contexts are types alone
}

/** The same for a person at a terminal: where there is no Redis this call says so within a second. */
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
  // A wake carries no truth. What it tells of is in Redis before it is added, and the sweeper looks within seconds: one that
  // fails must not tell the caller that the call failed, who would make it again, as another turn.
  const client = createClient({
    turns: store,
    contexts: store,
    passes: store,
    versions: store,
    proposals: store,
    events: store,
    listings: store,
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

/** A server that takes a connection and says nothing is given up in time; what may still become of it is closed. */
async function inTime<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new TurnfoldError('redis_unavailable', `Redis does not answer: there was no answer within ${OPEN_MS} ms`));
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
