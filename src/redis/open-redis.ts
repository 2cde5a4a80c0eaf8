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
  /** a command fails while Redis is away; otherwise it waits until Redis is back */
  readonly failsFast: boolean;
  /** ms until a command without an answer fails */
  readonly commandTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** connects when it is told to */
  readonly isLazy?: boolean;
  /** ends at its first failure; a server that is still loading is no failure */
  readonly isTriedOnce?: boolean;
  /** commands of one tick go out together; not to a Cluster */
  readonly isPipelined?: boolean;
  /** ms that a server which stands alone may leave a command unanswered before the connection to it is given up (default 5,000) */
  readonly aloneSilenceMs?: number;
}

type NodeOptions = Omit<RedisOptions, 'replyMapping'>;
type SeveralOptions = Omit<ClusterOptions, 'redisOptions'> & { redisOptions: NodeOptions };

/** What a connection is made of, where somebody needs more of it. */
interface ConnectionClasses {
  readonly Redis: (new (options: NodeOptions) => Redis) & (new (url: string, options: NodeOptions) => Redis);
  readonly Cluster: new (nodes: RedisNode[], options: SeveralOptions) => Cluster;
}

/**
 * A server on a machine that is gone says nothing, and TCP would wait for it for a quarter of an hour: whoever came in its place
 * (another master, or another machine behind the same address) is found by a new connection only. One that is just slow is
 * connected to again, and what was not answered sent again: sooner than the lease of a turn, 8 s, is over. Our scripts make nothing
 * of being sent twice.
 */
export const SILENCE_MS = 5_000;
const CONNECT_MS = 5_000;
/** Who is asked for the master, or for the slots, and does not answer must not cost a fail-fast call its second. */
const LOOKUP_MS = 500;

/**
 * Opens a connection to a Redis, however it is run. Over Sentinels and in a Cluster it finds the master again after a
 * failover.
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
      // A certificate is for names.
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
    // No `failoverDetector`: news of the failover, come while a connection looks for the master, ends it for good.
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
}

/** The address may hold a password: the error of whoever parses it would quote it. */
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
    // A connection that is away has nothing to finish, and ioredis would keep the process alive for two seconds.
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
 * Until a Cluster has voted, a command goes to a node that is gone, then to one that names it again, and each way counts.
 * One that waits goes round every 300 ms, for half a minute: a default Cluster votes after 15 s. One that fails fast has
 * its second.
 */
function makeClusterOptions(terms: ConnectionTerms, redisOptions: NodeOptions): SeveralOptions {
  const { failsFast, isLazy: lazyConnect = false } = terms;
  const pauseMs = failsFast ? 50 : 200;
  return {
    redisOptions,
    lazyConnect,
    enableOfflineQueue: !failsFast,
    // It asks one of the masters, any, whether all is well: with that one silent nobody is connected, though others answer.
    enableReadyCheck: !failsFast,
    clusterRetryStrategy: pickRetries(terms),
    slotsRefreshTimeout: LOOKUP_MS,
    maxRedirections: failsFast ? 16 : 200,
    retryDelayOnFailover: pauseMs,
    retryDelayOnClusterDown: pauseMs,
    retryDelayOnTryAgain: pauseMs,
    // Without it, a pipeline whose node is gone is thrown from node to node until its count is used up, within 30 ms.
    retryDelayOnMoved: pauseMs / 2,
  };
}

function pickRetries({ isTriedOnce = false }: ConnectionTerms): (times: number) => number | null {
  return isTriedOnce ? () => null : (times) => Math.min(50 * times, 1_000);
}

/** A master that was demoted may keep our connection, and would refuse every write: look again for who is master, and send again. */
function isDemoted(error: Error): 2 | false {
  return error.message.includes('READONLY') ? 2 : false;
}
