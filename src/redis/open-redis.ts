import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import {
  REDIS_ADDRESS_FORMS,
  type RedisAddress,
  type RedisLocation,
  type RedisNode,
  readRedisAddress,
  usesTls,
} from './address.ts';
import { makeTlsOptions } from './tls.ts';

export interface ConnectionTerms {
  /** A command fails while Redis is away. Otherwise it waits until Redis is back. */
  readonly failsFast: boolean;
  /** Milliseconds until a command without an answer fails. */
  readonly commandTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** The caller connects. */
  readonly isLazy?: boolean;
  /** Gives up at the first failure. A server that is loading its data is no failure. */
  readonly isTriedOnce?: boolean;
  /** Commands of one tick are sent together. No effect on a Cluster. */
  readonly isPipelined?: boolean;
  /** Milliseconds that a single server may leave a command unanswered before the connection is dropped (default 5,000). */
  readonly aloneSilenceMs?: number;
}

export type NodeOptions = Omit<RedisOptions, 'replyMapping'>;
type SeveralOptions = Omit<ClusterOptions, 'redisOptions'> & { redisOptions: NodeOptions };

/** Classes of ioredis, replaced in tests. */
interface ConnectionClasses {
  readonly Redis: (new (options: NodeOptions) => Redis) & (new (url: string, options: NodeOptions) => Redis);
  readonly Cluster: new (nodes: RedisNode[], options: SeveralOptions) => Cluster;
}

/**
 * A lost machine sends nothing, and TCP would wait 15 minutes for it. Only a new connection finds its successor: another
 * master, or another machine behind the address. A slow server is connected again, and unanswered commands are sent again,
 * within the lease of a turn (8 s). Our scripts are idempotent.
 */
export const SILENCE_MS = 5_000;
const CONNECT_MS = 5_000;
/** Limit of one question for the master or the slots, so that a fail-fast call keeps its second. */
const LOOKUP_MS = 500;

/**
 * Opens a connection to one server, over Sentinels or to a Cluster. The latter two find the new master after a failover.
 * @throws invalid_config, with the field
 */
export function openRedis(
  location: RedisLocation,
  terms: ConnectionTerms,
  classes: ConnectionClasses = { Redis, Cluster },
): Redis | Cluster {
  const { failsFast, isLazy: lazyConnect = false, isPipelined: enableAutoPipelining = false } = terms;
  const { aloneSilenceMs: socketTimeout = SILENCE_MS } = terms;
  const address = readAddress(location.url);
  const tls = usesTls(address) ? makeTlsOptions(location.tls) : undefined;
  const node = { ...makeNodeOptions(terms), ...(tls && { tls }) };
  const one = { ...node, lazyConnect, enableAutoPipelining, enableOfflineQueue: !failsFast };
  if (address.kind === 'single') return new classes.Redis(address.url, { ...one, socketTimeout });
  const { nodes, username, password } = address;
  const login: NodeOptions = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
  if (address.kind === 'cluster') {
    return new classes.Cluster([...nodes], {
      ...makeClusterOptions(terms, { ...node, ...login }),
      // Certificates name hosts, so the host is not resolved to an IP.
      ...(tls && { dnsLookup: (host, answer) => answer(null, host) }),
    });
  }
  const { sentinels } = address;
  return new classes.Redis({
    ...one,
    ...login,
    sentinels: [...nodes],
    name: address.master,
    db: address.database,
    ...(sentinels.username !== undefined && { sentinelUsername: sentinels.username }),
    ...(sentinels.password !== undefined && { sentinelPassword: sentinels.password }),
    sentinelRetryStrategy: pickRetries(terms),
    sentinelCommandTimeout: LOOKUP_MS,
    // Without `failoverDetector`: news of a failover during the search for the master would end the connection for good.
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
}

/** The error never quotes the address, because it may hold a password. */
function readAddress(url: string): RedisAddress {
  const address = readRedisAddress(url);
  if (address !== undefined) return address;
  const field = 'redisUrl';
  throw new TurnfoldError('invalid_config', `${field}: must be ${REDIS_ADDRESS_FORMS}`, { field });
}

function makeNodeOptions(terms: ConnectionTerms): NodeOptions {
  const { failsFast, isTriedOnce = false, commandTimeoutMs, connectTimeoutMs = CONNECT_MS } = terms;
  return {
    maxRetriesPerRequest: failsFast ? 0 : null,
    // An absent server has nothing to finish. ioredis would keep the process alive for two seconds.
    disconnectTimeout: 100,
    connectTimeout: connectTimeoutMs,
    socketTimeout: SILENCE_MS,
    retryStrategy: pickRetries(terms),
    reconnectOnError: isDemoted,
    ...(commandTimeoutMs !== undefined && { commandTimeout: commandTimeoutMs }),
    ...(isTriedOnce && { enableReadyCheck: false, disableClientInfo: true }),
  };
}

/**
 * Until a Cluster has voted, nodes redirect a command to a dead node, and each redirection counts. A waiting connection retries
 * every 300 ms for half a minute, because a default Cluster votes after 15 s. A fail-fast one retries for a second.
 */
function makeClusterOptions(terms: ConnectionTerms, redisOptions: NodeOptions): SeveralOptions {
  const { failsFast, isLazy: lazyConnect = false } = terms;
  const pauseMs = failsFast ? 50 : 200;
  return {
    redisOptions,
    lazyConnect,
    enableOfflineQueue: !failsFast,
    // The ready check asks one master. If that one is silent, no connection opens although others answer.
    enableReadyCheck: !failsFast,
    clusterRetryStrategy: pickRetries(terms),
    slotsRefreshTimeout: LOOKUP_MS,
    maxRedirections: failsFast ? 16 : 200,
    retryDelayOnFailover: pauseMs,
    retryDelayOnClusterDown: pauseMs,
    retryDelayOnTryAgain: pauseMs,
    // Without this delay, the pipeline of a dead node uses up its redirections within 30 ms.
    retryDelayOnMoved: pauseMs / 2,
  };
}

function pickRetries({ isTriedOnce = false }: ConnectionTerms): (times: number) => number | null {
  return isTriedOnce ? () => null : (times) => Math.min(50 * times, 1_000);
}

/** A demoted master may keep our connection and refuse every write. Reconnecting finds the new master and sends again. */
function isDemoted(error: Error): 2 | false {
  return error.message.includes('READONLY') ? 2 : false;
}
