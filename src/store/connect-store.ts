import type { Redis } from 'ioredis';
import type { Acknowledged, Durability } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { updateConversationScript } from './about.ts';
import { Barrier } from './barrier.ts';
import { openDatabase } from './database.ts';
import { openDatabaseWatch } from './database-watch.ts';
import { bindErase, bindRestoreIndex, eraseScript } from './erase.ts';
import { EventNotices } from './events.ts';
import { beginForkScript, endForkScript } from './forks.ts';
import { openGateStore } from './gates.ts';
import type { Keyspace } from './keys.ts';
import { appendScript } from './log.ts';
import { openMeasures } from './measures.ts';
import { openStore, type Store } from './open-store.ts';
import { requestPassScript } from './passes.ts';
import { connectionName, openPresence } from './presence.ts';
import { decideProposalScript } from './proposals.ts';
import { checkAccess } from './redis/access.ts';
import type { RedisLocation } from './redis/address.ts';
import { callRedis, connect, openConnection } from './redis/connection.ts';
import { checkServer, readAppendOnly, readMemory } from './redis/server-checks.ts';
import { Subscriber } from './redis/subscriber.ts';
import type { ScriptDefinition } from './script.ts';
import { openStreamNotices } from './streams.ts';
import { answerTurnScript } from './turn-answers.ts';
import { acceptTurnScript, cancelTurnScript } from './turn-intake.ts';
import { replaceVersionScript } from './versions.ts';

/** Major version of `engines.node` in package.json. */
const OLDEST_NODE = 22;

export interface StoreOptions extends RedisLocation {
  readonly shards: number;
  /** True for services: a call fails within a second while Redis is down. Calls of workers wait until Redis is back. */
  readonly failsFast?: boolean;
  readonly onError?: (error: Error) => void;
  readonly worker?: string;
  readonly durability?: Durability | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** ms of silence after which calls of services fail. The caller has one second, and needs the rest for its own work. */
const FAIL_FAST_MS = 800;

/** @throws invalid_config, incompatible_store, redis_denied, and redis_unavailable if `failsFast` is set */
export async function connectStore(options: StoreOptions) {
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
    const notifications = new EventNotices(subscriber, keyspace);
    const store = openStore(redis, keyspace);
    return {
      store: barrier === undefined ? store : guardStore(store, redis, barrier, keyspace),
      notifications,
      streamNotices: openStreamNotices(subscriber, keyspace),
      readMemory: () => readMemory(redis),
      isAppendOnly: () => readAppendOnly(redis),
      checkServer: () => checkServer(redis),
      measures: openMeasures(redis, keyspace),
      presence: openPresence(redis, keyspace, worker ?? ''),
      gates: openGateStore(redis, keyspace),
      database: openDatabaseWatch(redis, opened),
      onReconnect: (listener: () => void): void => void redis.on('ready', listener),
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

export type ConnectedStore = Awaited<ReturnType<typeof connectStore>>;

/**
 * Puts the writes of services behind the durability barrier, which waits for replicas. If a repeated call finds its
 * write already done, it waits as well. Calls that wrote nothing do not wait. These calls run without the barrier:
 * - writes of workers, which a failover makes them repeat from the accepted input
 * - reads, which report the state of the master
 * - batches of a fork, because replication keeps the order and the last write of the call waits. Every erase batch
 *   waits: if a failover lost an early batch, the last batch could not repeat it
 */
function guardStore(store: Store, redis: Redis, barrier: Barrier, keyspace: Keyspace): Store {
  const guard = <Input extends readonly unknown[], Reply extends { readonly status: string }>(
    script: ScriptDefinition<Input, Reply>,
    ...done: readonly Reply['status'][]
  ): ((...input: Input) => Promise<Acknowledged<Reply>>) =>
    barrier.bind(script, keyspace, ({ status }) => done.includes(status));
  const requestPass = guard(requestPassScript, 'requested', 'joined');
  return {
    ...store,
    accept: guard(acceptTurnScript, 'accepted', 'known'),
    append: guard(appendScript, 'appended', 'known'),
    updateConversation: guard(updateConversationScript, 'updated'),
    answerTurn: guard(answerTurnScript, 'answered', 'still_waiting'),
    cancel: guard(cancelTurnScript, 'canceled', 'settled'),
    replaceVersion: guard(replaceVersionScript, 'replaced', 'known'),
    beginFork: guard(beginForkScript, 'done'),
    endFork: guard(endForkScript, 'done'),
    decideProposal: guard(decideProposalScript, 'decided', 'concluded'),
    // Only workers, when they evaluate a context, request a pass without reasons. Such a request needs no barrier.
    requestPass: (request) => (request.reasons.length === 0 ? store.requestPass(request) : requestPass(request)),
    erase: bindErase(
      barrier.bind(eraseScript, keyspace, () => true),
      bindRestoreIndex(redis, keyspace),
    ),
  };
}

/** Without this check, an older Node fails with a TypeError at some later call. @throws invalid_config */
export function checkNode(present: string): void {
  if (Number.parseInt(present, 10) >= OLDEST_NODE) return;
  const why = `turnfold needs Node ${OLDEST_NODE} or newer, but this is ${present} (${process.execPath}). Install a newer Node`;
  throw new TurnfoldError('invalid_config', why);
}
