/**
 * Opens connections to a single server, over Sentinels or to a Cluster, with a timeout for each way in which a server
 * can be lost.
 *
 * A lost machine sends nothing, and TCP would wait for 15 minutes. Only a new connection finds the server that replaced
 * it. So we drop a connection after 5 s of silence, and send the unanswered commands again. All this fits into the
 * lease of a turn (8 s), and scripts are idempotent. If the server was only slow, this costs a reconnect.
 *
 * Callers are of two kinds. Workers wait until Redis is back. Services need an error within a second (`failsFast`). The
 * `commandTimeout` of ioredis fails a command by its age, also while its answer waits unread in a busy process. So
 * `failWhenSilent` measures the silence of the server instead. In a Cluster ioredis may delay a command itself, so
 * there the age of the command counts.
 *
 * The order of this file: `openRedis`, the options of a node, those of a Cluster, reconnects, silence. `connection.ts`
 * and the queue call it. `server-connections.ts` prepares each connection.
 */

import { Cluster, type ClusterOptions, Command, Redis, type RedisOptions } from 'ioredis';
import { TurnfoldError } from '../../domain/errors.ts';
import {
  REDIS_ADDRESS_FORMS,
  type RedisAddress,
  type RedisLocation,
  type RedisNode,
  readRedisAddress,
  usesTls,
} from './address.ts';
import { prepareServers } from './server-connections.ts';
import { makeTlsOptions } from './tls.ts';

export interface ConnectionTerms {
  /** Name under which Redis lists the connection. */
  readonly name?: string;
  /** True: a command fails at once while Redis is unreachable. False: the command waits. */
  readonly failsFast: boolean;
  readonly connectTimeoutMs?: number;
  /** ms of silence after which unanswered commands fail. In a Cluster, ms after which any command fails. */
  readonly failSilenceMs?: number;
  readonly isLazy?: boolean;
  /** True: gives up when connecting fails once. A server that is still loading its data does not count as a failure. */
  readonly isTriedOnce?: boolean;
  /** True: stays on a server that became a replica, because the caller asks that server for its state. */
  readonly staysDemoted?: boolean;
  /** ms after which we drop the connection to a silent single server (default 5,000). */
  readonly aloneSilenceMs?: number;
}

export type NodeOptions = Omit<RedisOptions, 'replyMapping'>;
type SeveralOptions = Omit<ClusterOptions, 'redisOptions'> & { redisOptions: NodeOptions };

/** Classes of the connections. The queue and tests pass classes of their own. */
interface ConnectionClasses {
  readonly Redis: (new (options: NodeOptions) => Redis) & (new (url: string, options: NodeOptions) => Redis);
  readonly Cluster: new (nodes: RedisNode[], options: SeveralOptions) => Cluster;
}

export const SILENCE_MS = 5_000;
const CONNECT_MS = 5_000;
/** ms to ask one Sentinel for the master, or one node for the slots. A service's call has one second in all. */
const LOOKUP_MS = 500;

/** @throws invalid_config if the URL or a TLS setting is invalid, with the field */
export function openRedis(
  location: RedisLocation,
  terms: ConnectionTerms,
  classes: ConnectionClasses = { Redis, Cluster },
): Redis | Cluster {
  return prepareServers(open(location, terms, classes));
}

function open(location: RedisLocation, terms: ConnectionTerms, classes: ConnectionClasses): Redis | Cluster {
  const { failsFast, isLazy: lazyConnect = false } = terms;
  const { aloneSilenceMs: socketTimeout = SILENCE_MS, failSilenceMs } = terms;
  const address = readAddress(location.url);
  const tls = usesTls(address) ? makeTlsOptions(location.tls) : undefined;
  const node = { ...makeNodeOptions(terms), ...(tls && { tls }) };
  const one = { ...node, lazyConnect, enableOfflineQueue: !failsFast };
  if (address.kind === 'single') {
    return failWhenSilent(new classes.Redis(address.url, { ...one, socketTimeout }), failSilenceMs);
  }
  const { nodes, username, password } = address;
  const login: NodeOptions = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
  if (address.kind === 'cluster') {
    return new classes.Cluster([...nodes], {
      ...makeClusterOptions(terms, {
        ...node,
        ...login,
        ...(failSilenceMs !== undefined && { commandTimeout: failSilenceMs }),
      }),
      // Certificates are issued for host names, so the name is not resolved to an IP.
      ...(tls && { dnsLookup: (host, answer) => answer(null, host) }),
    });
  }
  const { sentinels } = address;
  const redis = new classes.Redis({
    ...one,
    ...login,
    sentinels: [...nodes],
    name: address.master,
    db: address.database,
    ...(sentinels.username !== undefined && { sentinelUsername: sentinels.username }),
    ...(sentinels.password !== undefined && { sentinelPassword: sentinels.password }),
    sentinelRetryStrategy: pickRetries(terms),
    sentinelCommandTimeout: LOOKUP_MS,
    // `failoverDetector` is not set. With it, news of a failover during the search for the master would end the
    // connection for good.
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
  return failWhenSilent(redis, failSilenceMs);
}

function readAddress(url: string): RedisAddress {
  const address = readRedisAddress(url);
  if (address !== undefined) return address;
  const field = 'redisUrl';
  throw new TurnfoldError('invalid_config', `${field}: must be ${REDIS_ADDRESS_FORMS}`, { field });
}

function makeNodeOptions(terms: ConnectionTerms): NodeOptions {
  const { failsFast, isTriedOnce = false, connectTimeoutMs = CONNECT_MS, name } = terms;
  return {
    maxRetriesPerRequest: failsFast ? 0 : null,
    // An unreachable server has no command to finish, so the wait is short. By default, ioredis keeps the process alive
    // for two seconds.
    disconnectTimeout: 100,
    connectTimeout: connectTimeoutMs,
    socketTimeout: SILENCE_MS,
    retryStrategy: pickRetries(terms),
    reconnectOnError: pickReconnects(terms),
    ...(name !== undefined && { connectionName: name }),
    ...(isTriedOnce && { enableReadyCheck: false, disableClientInfo: true }),
  };
}

/**
 * Options for a Cluster. Until a Cluster has elected a new master, its nodes redirect commands to the dead one, and
 * each redirection counts as a retry. A waiting connection retries every 300 ms for half a minute, because a Cluster
 * with default settings elects after 15 s. A fail-fast connection retries for a second.
 */
function makeClusterOptions(terms: ConnectionTerms, redisOptions: NodeOptions): SeveralOptions {
  const { failsFast, isLazy: lazyConnect = false } = terms;
  const pauseMs = failsFast ? 50 : 200;
  return {
    redisOptions,
    lazyConnect,
    enableOfflineQueue: !failsFast,
    // The ready check asks one random master. If that master is silent, the connection would not open.
    enableReadyCheck: !failsFast,
    clusterRetryStrategy: pickRetries(terms),
    slotsRefreshTimeout: LOOKUP_MS,
    maxRedirections: failsFast ? 16 : 200,
    retryDelayOnFailover: pauseMs,
    retryDelayOnClusterDown: pauseMs,
    retryDelayOnTryAgain: pauseMs,
    // Without this pause, a pipeline to a dead node uses up its redirections within 30 ms.
    retryDelayOnMoved: pauseMs / 2,
  };
}

function pickRetries({ isTriedOnce = false }: ConnectionTerms): (times: number) => number | null {
  return isTriedOnce ? () => null : (times) => Math.min(50 * times, 1_000);
}

/**
 * Decides which errors lead to a reconnect, which finds the new master of a demoted server. The result 2 makes ioredis
 * send the refused write again.
 */
function pickReconnects({ failsFast, isTriedOnce, staysDemoted }: ConnectionTerms): (error: Error) => boolean | 2 {
  if (isTriedOnce === true || staysDemoted === true) return () => false;
  return ({ message }) => message.includes('READONLY') && (failsFast || 2);
}

const LOOK_MS = 100;

/**
 * Fails a command once the server has sent nothing for `silenceMs` since it was sent. A server that sends answers is
 * alive, and repeating its other commands would only lengthen their wait. Each pass of the event loop checks at most
 * once, and also reads the answers that have arrived. So a program that was busy does not mistake its unread answers
 * for silence.
 * @param silenceMs a multiple of 100 ms. Undefined: commands wait without a limit
 */
function failWhenSilent(redis: Redis, silenceMs: number | undefined): Redis {
  if (silenceMs === undefined) return redis;
  const looksOfSilence = silenceMs / LOOK_MS;
  redis.on('connect', () => {
    const { stream } = redis;
    let bytes = stream.bytesRead;
    /** Number of waiting commands at each check since the server last sent something. */
    let waiting: number[] = [];
    const looks = setInterval(() => {
      if (stream.bytesRead !== bytes) waiting = [];
      bytes = stream.bytesRead;
      waiting.push(redis.commandQueue.length);
      if (waiting.length <= looksOfSilence) return;
      const overdue = waiting.shift() ?? 0;
      for (let at = 0; at < overdue; at += 1) failCommand(redis.commandQueue.get(at)?.command);
    }, LOOK_MS);
    looks.unref();
    stream.once('close', () => clearInterval(looks));
  });
  return redis;
}

/** The command stays in the queue of ioredis, which assigns late answers by their order. */
function failCommand(command: unknown): void {
  if (command instanceof Command && !command.isSettled) command.reject(new Error('Command timed out'));
}
