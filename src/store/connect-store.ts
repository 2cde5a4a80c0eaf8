import type { Durability } from '../domain/durability.ts';
import { Barrier } from './barrier.ts';
import { openDatabase } from './database.ts';
import { type DatabaseWatch, openDatabaseWatch } from './database-watch.ts';
import { type EventNotifications, openEventNotifications } from './event-notifications.ts';
import { type GateStore, openGateStore } from './gates.ts';
import { guardStore } from './guarded-store.ts';
import { openMeasures, type StoreMeasures } from './measures.ts';
import { openStore, type Store } from './open-store.ts';
import { type AgentFinder, connectionName, openPresence, type PresenceStore } from './presence.ts';
import { checkAccess } from './redis/access.ts';
import type { RedisLocation } from './redis/address.ts';
import { callRedis, connect, openConnection } from './redis/connection.ts';
import { checkServer, type MemoryUse, readAppendOnly, readMemory } from './redis/server-checks.ts';
import { Subscriber } from './redis/subscriber.ts';
import { openStreamNotices, type StreamNotices } from './streams.ts';

export interface StoreOptions extends RedisLocation {
  /** Number of shards (groups of conversations) in the database. This number is fixed when the database is created. */
  readonly shards: number;
  /**
   * If true, a call fails within a second while Redis is down. Services set this. Calls of workers wait until Redis is
   * back.
   */
  readonly failsFast?: boolean;
  readonly onError?: (error: Error) => void;
  /** Worker whose connection this is. Redis lists the connection under this name. */
  readonly worker?: string;
  /** How many replicas and disks must have a write before the caller gets its reply. */
  readonly durability?: Durability | undefined;
  /** Makes `connectStore` stop waiting for Redis. */
  readonly signal?: AbortSignal | undefined;
}

export interface ConnectedStore {
  readonly store: Store;
  readonly notifications: EventNotifications;
  readonly streamNotices: StreamNotices;
  /** Reads the memory use of Redis. Returns undefined if no server has a memory limit, or if every server forbids INFO. */
  readonly readMemory: () => Promise<MemoryUse | undefined>;
  /** Reads if every server writes an append-only file. Returns undefined if every server forbids INFO. */
  readonly isAppendOnly: () => Promise<boolean | undefined>;
  /**
   * Checks for the readiness probe that Redis accepts calls.
   * @throws redis_unavailable, at once if there is no connection. incompatible_store if the server is too old or may
   * evict keys.
   */
  readonly checkServer: () => Promise<void>;
  readonly measures: StoreMeasures;
  readonly presence: PresenceStore & AgentFinder;
  readonly gates: GateStore;
  /** Finds out that Redis holds another or an older database than when this process connected. */
  readonly database: DatabaseWatch;
  /** Calls the listener whenever the connection to Redis was opened again. */
  readonly onReconnect: (listener: () => void) => void;
  readonly close: () => Promise<void>;
}

/**
 * Milliseconds of silence after which fail-fast calls fail. The caller has one second in total, and needs the rest for its
 * own work.
 */
const FAIL_FAST_MS = 800;

/**
 * Connects to Redis and opens the store.
 * @throws invalid_config, incompatible_store, redis_denied, and redis_unavailable if `failsFast` is set
 */
export async function connectStore(options: StoreOptions): Promise<ConnectedStore> {
  const { url, tls, prefix, shards, failsFast = false, onError, worker, durability, signal } = options;
  signal?.throwIfAborted();
  const redis = openConnection({
    url,
    tls,
    failsFast,
    ...(worker === undefined ? {} : { name: connectionName(worker) }),
    ...(failsFast ? { failSilenceMs: FAIL_FAST_MS } : {}),
    ...(onError === undefined ? {} : { onError }),
  });
  const leave = (): void => redis.disconnect();
  signal?.addEventListener('abort', leave);
  try {
    if (failsFast) await connect(redis, options);
    else await callRedis(() => checkAccess(redis, prefix));
    const opened = await openDatabase(redis, { shards, prefix });
    const { keyspace } = opened;
    const barrier = durability && (await Barrier.open(redis, durability));
    const subscriber = new Subscriber(redis);
    const notifications = openEventNotifications(subscriber, keyspace);
    const store = openStore(redis, keyspace);
    return {
      store: barrier === undefined ? store : guardStore(store, redis, barrier, keyspace),
      notifications,
      readMemory: () => readMemory(redis),
      isAppendOnly: () => readAppendOnly(redis),
      checkServer: () => checkServer(redis),
      measures: openMeasures(redis, keyspace),
      database: openDatabaseWatch(redis, opened),
      presence: openPresence(redis, keyspace, worker ?? ''),
      gates: openGateStore(redis, keyspace),
      streamNotices: openStreamNotices(subscriber, keyspace),
      onReconnect: (listener) => void redis.on('ready', listener),
      close: async () => {
        notifications.close();
        subscriber.close();
        barrier?.close();
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error;
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}
