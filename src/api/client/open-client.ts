import { describeLoss } from '../../domain/database-loss.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { openWakeQueue } from '../../jobs/bullmq/wake-queue.ts';
import { createIdSource } from '../../jobs/id-source.ts';
import { checkNode, connectStore } from '../../store/connect-store.ts';
import type { DatabaseWatch } from '../../store/database-watch.ts';
import { isRefusal } from '../../store/redis/errors.ts';
import type { StreamPage, StreamQuery, StreamReader } from '../../store/streams.ts';
import { readCurrentTrace } from '../../telemetry/trace-parent.ts';
import { loadTokenCounter } from '../../wire/tokens/token-counter.ts';
import type { AnyAgents } from '../contract/agent-types.ts';
import type { TurnfoldClient } from '../contract/client.ts';
import { Retries } from '../retries.ts';
import { type AccessKeys, createAccessKeys } from './access-keys.ts';
import { createClient } from './client.ts';
import { type ClientOptions, type ClientSettings, readClientOptions, readEncoding } from './client-options.ts';
import { storePorts } from './ports.ts';
import { createWebhooks, type Webhooks } from './webhooks.ts';

/*
 * A client runs the functions of `client.ts` over a store. Two layers lie between them.
 *
 * The first layer retries each call while Redis is unreachable (`retryStore`). Retries are safe, because every write of
 * the store has an id in its input and is idempotent (invariant I5). The layer wraps operations of the store, not
 * methods of the client. So a fork in many batches repeats one batch, not the whole copy. The deadline starts with the
 * outage, not with the call. An attempt in flight at the deadline may end 0.9 s later, or still later if Redis is busy.
 *
 * The second layer lets readers of one turn share their reads (`shareReads`). A notice wakes all readers at once, and
 * most ask for the same page. Shared, 1,000 readers cost one read for each notice. At most 50 reads are in flight.
 * Otherwise 1,000 pages of up to some MB would exceed the timeout of a command, and their readers would repeat the
 * reads.
 */

/** Limit of one attempt to connect, so that with `failFast` a caller gets an error within a second. */
const OPEN_MS = 900;

export interface OpenClient<Agents extends AnyAgents = AnyAgents> extends TurnfoldClient<Agents> {
  /** Access keys of services, for operators and for servers that check bearer tokens. */
  readonly keys: AccessKeys;
  /** Webhooks of tenants. */
  readonly webhooks: Webhooks;
  /** Closes the connections. Calls in flight fail. */
  close(): Promise<void>;
}

/**
 * Connects a service. While Redis is away, this call and every call of the client are retried for `deadlineMs`. With
 * `failFast` they fail within a second.
 * @throws invalid_config for an option, invalid_input for `durability`, both with the field and before any connection
 * @throws redis_unavailable, redis_denied, redis_full or incompatible_store if Redis cannot be used
 */
export async function openClient<Agents extends AnyAgents = AnyAgents>(
  options: ClientOptions,
): Promise<OpenClient<Agents>> {
  const settings = readClientOptions(options);
  const client: OpenClient = await open(settings, settings.deadlineMs);
  return client as unknown as OpenClient<Agents>; // agent names and contexts exist only as types
}

export async function openClientAtOnce(options: ClientOptions): Promise<OpenClient> {
  return await open(readClientOptions(options), 0);
}

async function open(settings: ClientSettings, openingMs: number): Promise<OpenClient> {
  checkNode(process.versions.node);
  const {
    redisUrl: url,
    redisTls: tls,
    prefix,
    shards,
    queueShards,
    encodingOf,
    onError,
    deadlineMs,
    ...durably
  } = settings;
  const connected = await callUntil(openingMs, () =>
    inTime(connectStore({ url, tls, prefix, shards, failsFast: true, onError, ...durably })),
  );
  const { notifications, streamNotices, database, close } = connected;
  const stopReporting = reportLosses(database, onError);
  const store = retryStore(connected.store, deadlineMs);
  const wakes = openWakeQueue({ url, tls, prefix, shards: queueShards, failsFast: true, onError });
  const ids = createIdSource();
  // A lost wake job must not fail the call: the turn is stored, and the sweeper adds a wake within seconds.
  const client = createClient({
    ...storePorts(store),
    streams: shareReads(store),
    notifications,
    streamNotices,
    wakes: { wake: (...wake) => wakes.wake(...wake).catch(onError) },
    queues: { eraseJobs: (...erased) => callUntil(deadlineMs, () => wakes.eraseJobs(...erased)) },
    onError,
    counterFor: async (agent) => await loadTokenCounter(readEncoding(encodingOf(agent))),
    currentTrace: readCurrentTrace,
    ids,
    now: () => Date.now(),
  });
  return {
    ...client,
    keys: createAccessKeys({ keys: store, onError, elapsedMs: () => performance.now() }),
    webhooks: createWebhooks({ webhooks: store, ids, now: () => Date.now() }),
    async close() {
      stopReporting();
      await Promise.all([wakes.close(), close()]);
    },
  };
}

/** A server may accept a connection and never answer. A connection that opens too late is closed. */
async function inTime<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new TurnfoldError('redis_unavailable', `Redis did not answer within ${OPEN_MS} ms`));
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

/** First pause between two attempts. Redis usually accepts a new connection within 50 ms after it dropped one. */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 250;
const COMMAND_MS = 900;

/** @throws redis_unavailable after the deadline, any other error at once */
async function callUntil<T>(deadlineMs: number, call: () => Promise<T>): Promise<T> {
  const retries = new Retries({ deadlineMs, firstPauseMs: FIRST_PAUSE_MS, longestPauseMs: LONGEST_PAUSE_MS });
  for (;;) {
    const startedAt = performance.now();
    try {
      return await call();
    } catch (error) {
      if (!isTurnfoldError(error, 'redis_unavailable') || isRefusal(error)) throw error;
      // The deadline counts from the start of the outage, not of the call, which may have run for minutes before.
      const downSince = Math.max(startedAt, performance.now() - COMMAND_MS);
      if (!(await retries.wait({ downSince }))) throw error;
    }
  }
}

export function retryStore<Store extends object>(store: Store, deadlineMs: number): Store {
  const members = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (!isOperation(member)) return [name, member];
    return [name, (...input: unknown[]) => callUntil(deadlineMs, () => member(...input))];
  });
  return Object.fromEntries(members) as Store; // each member has its name and type
}

function isOperation(member: unknown): member is (...input: unknown[]) => Promise<unknown> {
  return typeof member === 'function';
}

const CHECK_EVERY_MS = 5_000;

/**
 * Reports once `database_lost` if Redis has another or an older database than before, or `incompatible_store` if this
 * release cannot use it.
 * @returns a function that ends the checks
 */
function reportLosses(database: DatabaseWatch, onError: (error: unknown) => void): () => void {
  let isIncompatible = false;
  const check = async (): Promise<void> => {
    try {
      const loss = await database.check();
      isIncompatible = false;
      if (loss !== undefined)
        onError(new TurnfoldError('database_lost', `${describeLoss(loss)}.`, { details: { ...loss } }));
    } catch (error) {
      if (isIncompatible || !isTurnfoldError(error, 'incompatible_store')) return;
      isIncompatible = true;
      onError(error);
    }
  };
  const timer = setInterval(() => void check(), CHECK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

const MAX_READS = 50;

/** A call shares only a read that was not sent yet, so it never gets a page from before the call. */
function shareReads(streams: StreamReader): StreamReader {
  const waiting = new Map<string, Promise<StreamPage | undefined>>();
  const places = new Places(MAX_READS);
  return {
    followTurn: (conversation, turn) => streams.followTurn(conversation, turn),
    readStream(query) {
      const name = nameQuery(query);
      const known = waiting.get(name);
      if (known !== undefined) return known;
      const read = nextTurn().then(() =>
        places.run(() => {
          waiting.delete(name);
          return streams.readStream(query);
        }),
      );
      waiting.set(name, read);
      return read;
    },
  };
}

function nameQuery({ conversation, turn, after, afterSeq }: StreamQuery): string {
  return [conversation.tenant, conversation.id, turn, after, afterSeq].join(' ');
}

async function nextTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

class Places {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await call();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
