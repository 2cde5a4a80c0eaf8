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
  /** If true, a command fails at once while Redis is away. If false, it waits until Redis is back. */
  readonly failsFast: boolean;
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds of silence of the server after which its unanswered commands fail. A command to a Cluster fails after
   * this time in any case, because ioredis may hold it back while it looks for the node.
   */
  readonly failSilenceMs?: number;
  /** The connection is not opened at once, because the caller connects it. */
  readonly isLazy?: boolean;
  /** Gives up when connecting fails once. A server that is still loading its data does not count as a failure. */
  readonly isTriedOnce?: boolean;
  /** Keeps the connection to a server that is a replica, because the caller asks that server for its state. */
  readonly staysDemoted?: boolean;
  /** Milliseconds that a single server may leave a command unanswered before we drop the connection (default 5,000). */
  readonly aloneSilenceMs?: number;
}

export type NodeOptions = Omit<RedisOptions, 'replyMapping'>;
type SeveralOptions = Omit<ClusterOptions, 'redisOptions'> & { redisOptions: NodeOptions };

/** The classes of connections. The queue and tests pass their own. */
interface ConnectionClasses {
  readonly Redis: (new (options: NodeOptions) => Redis) & (new (url: string, options: NodeOptions) => Redis);
  readonly Cluster: new (nodes: RedisNode[], options: SeveralOptions) => Cluster;
}

/**
 * A machine that is lost sends nothing, and TCP would wait 15 minutes for it. Only a new connection finds the server
 * that replaced it: another master, or another machine at the same address. For a server that is only slow, we
 * reconnect and send the unanswered commands again. All this fits into the lease of a turn (8 s), and our scripts are
 * idempotent.
 */
export const SILENCE_MS = 5_000;
const CONNECT_MS = 5_000;
/**
 * Time limit for asking one Sentinel for the master or one node for the slots. A fail-fast call must end within a
 * second.
 */
const LOOKUP_MS = 500;

/**
 * Opens a connection to one server, over Sentinels or to a Cluster. The latter two find the new master after a
 * failover.
 * @throws invalid_config if the URL or a TLS setting is invalid, with the field
 */
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
      // With TLS, the host name is not resolved to an IP, because certificates are issued for host names.
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
    // Set without `failoverDetector`: with it, news of a failover during the search for the master would end the
    // connection for good.
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
  return failWhenSilent(redis, failSilenceMs);
}

/** The error never quotes the URL, because it may contain a password. */
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
    // An unreachable server has no command to finish. With a longer timeout, ioredis would keep the process alive for
    // two seconds.
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
 * Until a Cluster has elected a new master, its nodes redirect commands to the dead node, and each redirection counts
 * as a retry. A waiting connection retries every 300 ms for half a minute, because a Cluster with default settings
 * elects after 15 s. A fail-fast connection retries for a second.
 */
function makeClusterOptions(terms: ConnectionTerms, redisOptions: NodeOptions): SeveralOptions {
  const { failsFast, isLazy: lazyConnect = false } = terms;
  const pauseMs = failsFast ? 50 : 200;
  return {
    redisOptions,
    lazyConnect,
    enableOfflineQueue: !failsFast,
    // The ready check asks one random master. If that master is silent, the connection would not open although other
    // masters answer.
    enableReadyCheck: !failsFast,
    clusterRetryStrategy: pickRetries(terms),
    slotsRefreshTimeout: LOOKUP_MS,
    maxRedirections: failsFast ? 16 : 200,
    retryDelayOnFailover: pauseMs,
    retryDelayOnClusterDown: pauseMs,
    retryDelayOnTryAgain: pauseMs,
    // Without this delay, a pipeline to a dead node uses up all its redirections within 30 ms.
    retryDelayOnMoved: pauseMs / 2,
  };
}

function pickRetries({ isTriedOnce = false }: ConnectionTerms): (times: number) => number | null {
  return isTriedOnce ? () => null : (times) => Math.min(50 * times, 1_000);
}

/**
 * A master that was demoted to a replica may keep our connection and refuse every write. Reconnecting finds the new
 * master. A waiting connection then sends the write again. On a fail-fast connection the write fails with the refusal.
 */
function pickReconnects({ failsFast, isTriedOnce, staysDemoted }: ConnectionTerms): (error: Error) => boolean | 2 {
  if (isTriedOnce === true || staysDemoted === true) return () => false;
  return ({ message }) => message.includes('READONLY') && (failsFast || 2);
}

/** Milliseconds between two looks at a connection. */
const LOOK_MS = 100;

/**
 * Makes a command fail once the server has sent nothing for some time since the command was sent. A server that sends
 * answers is alive. Its other commands only wait for their turn, and repeating them would make the wait longer.
 *
 * A program that was busy itself does not mistake its unread answers for silence. A pass of the event loop looks at
 * most once, and also reads what has arrived.
 * @param silenceMs a multiple of 100 ms. If undefined, commands wait without a limit.
 * @returns the connection
 */
function failWhenSilent(redis: Redis, silenceMs: number | undefined): Redis {
  if (silenceMs === undefined) return redis;
  const looksOfSilence = silenceMs / LOOK_MS;
  redis.on('connect', () => {
    const { stream } = redis;
    let bytes = stream.bytesRead;
    /** How many commands waited at each look since the server last sent something. */
    let waiting: number[] = [];
    const looks = setInterval(() => {
      if (stream.bytesRead !== bytes) waiting = [];
      bytes = stream.bytesRead;
      waiting.push(redis.commandQueue.length);
      if (waiting.length <= looksOfSilence) return;
      // During the silence no command left the front of the queue.
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
