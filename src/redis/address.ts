import { z } from 'zod';
import { PROCESS_DEFAULTS, PROCESS_RANGES, wholeNumber } from '../domain/process-options.ts';

/** TLS settings of the connection to Redis, beside the defaults of Node. Each text is in PEM. */
export interface RedisTls {
  /** Trusted authorities, instead of those that Node knows. One certificate or several. */
  readonly ca?: string;
  /** Client certificate, if Redis requires one, with the certificates up to its authority. */
  readonly cert?: string;
  /** Private key of `cert`, without a passphrase. */
  readonly key?: string;
  /** Name in the servers' certificates, if the address has another host, such as an IP. */
  readonly serverName?: string;
}

/** Address of a Redis and the TLS settings to reach it. */
export interface RedisLocation {
  /** URL of one server, of Sentinels or of a Cluster. */
  readonly url: string;
  /** Ignored unless the URL has the scheme `rediss`. */
  readonly tls?: RedisTls | undefined;
}

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

interface Credentials extends Login {
  readonly isTls: boolean;
}

export type RedisAddress =
  | { readonly kind: 'single'; readonly url: string }
  /**
   * Sentinels name the present master. The credentials are the master's. Sentinels use the same password unless `sentinels` has
   * one.
   */
  | ({
      readonly kind: 'sentinel';
      readonly nodes: readonly RedisNode[];
      readonly master: string;
      readonly database: number;
      readonly sentinels: Login;
    } & Credentials)
  /** Some nodes of a Cluster. They name the other nodes. */
  | ({ readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] } & Credentials);

/** Forms of an address, for error messages. An invalid address is never quoted, because it may hold a password. */
export const REDIS_ADDRESS_FORMS =
  'redis://[user:password@]host[:port][/database], redis+sentinel://[user:password@]host[:port],…/master[/database][?sentinelPassword=…], or redis+cluster://[user:password@]host[:port],… without a database. Use rediss for TLS';

const PORTS = { sentinel: 26_379, cluster: 6_379 } as const;
const SEVERAL =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/?]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;

/** Returns undefined if the text is not an address. */
export function readRedisAddress(text: string): RedisAddress | undefined {
  const parts = SEVERAL.exec(text)?.groups;
  if (parts === undefined) return isSingle(text) ? { kind: 'single', url: text } : undefined;
  const { scheme, kind, login = '', hosts = '', path = '', query } = parts;
  const nodes = hosts.split(',').map((host) => readNode(host, PORTS[kind as keyof typeof PORTS]));
  if (!nodes.every((node) => node !== undefined)) return undefined;
  const credentials = readLogin(login);
  if (credentials === undefined) return undefined;
  const isTls = scheme === 'rediss';
  // A Cluster has database 0 alone.
  if (kind === 'cluster') {
    return path === '' && query === undefined ? { kind: 'cluster', nodes, ...credentials, isTls } : undefined;
  }
  const [, master, database = '0'] = /^([\w.-]+)(?:\/(\d+))?$/.exec(path) ?? [];
  // Sentinels get the master's password by default, without a user. A Sentinel without a login accepts any password.
  const { password } = credentials;
  const sentinels = query === undefined ? (password === undefined ? {} : { password }) : readSentinelLogin(query);
  if (master === undefined || sentinels === undefined) return undefined;
  return { kind: 'sentinel', nodes, master, database: Number(database), sentinels, ...credentials, isTls };
}

/** Servers to contact first. */
export function listNodes(address: RedisAddress): readonly RedisNode[] {
  if (address.kind !== 'single') return address.nodes;
  const node = readNode(new URL(address.url).host, PORTS.cluster);
  return node === undefined ? [] : [node];
}

export function usesTls(address: RedisAddress): boolean {
  return address.kind === 'single' ? /^rediss:/i.test(address.url) : address.isTls;
}

/** Address without user, password and query, because the query may hold a password too. */
export function showAddress(address: RedisAddress): string {
  if (address.kind === 'single') {
    const { protocol, host, pathname, username, password } = new URL(address.url);
    return `${protocol}//${username || password ? '***@' : ''}${host}${pathname}`;
  }
  const { kind, nodes, username, password, isTls } = address;
  const secrets = [username, password, address.kind === 'sentinel' ? address.sentinels.password : undefined];
  const login = secrets.every((secret) => secret === undefined) ? '' : '***@';
  const hosts = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  const path = address.kind === 'sentinel' ? `/${address.master}/${address.database}` : '';
  return `redis${isTls ? 's' : ''}+${kind}://${login}${hosts.join(',')}${path}`;
}

function isSingle(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname } = new URL(text);
  // A comma separates servers, so it cannot be part of one host.
  return /^rediss?:$/.test(protocol) && /^[^,]+$/.test(hostname) && /^(\/\d*)?$/.test(pathname);
}

function readNode(text: string, defaultPort: number): RedisNode | undefined {
  if (!URL.canParse(`http://${text}`)) return undefined;
  // Hosts and ports follow the rules of Node. URL drops port 80, the default of http.
  const { hostname, port } = new URL(`http://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (text.endsWith(':80') ? 80 : defaultPort)) };
}

function readLogin(login: string): Login | undefined {
  const [username = '', ...rest] = login.split(':');
  try {
    return {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(rest.length > 0 && { password: decodeURIComponent(rest.join(':')) }),
    };
  } catch {
    return undefined; // a bare %
  }
}

/** `sentinelPassword=…`, and optionally `sentinelUsername=…`. A `+` is not decoded to a space. */
function readSentinelLogin(query: string): Login | undefined {
  const pairs = query.split('&').map((pair) => /^(sentinelUsername|sentinelPassword)=(.*)$/.exec(pair)?.slice(1));
  const values = new Map(pairs.map((pair) => [pair?.[0], pair?.[1]]));
  if (values.has(undefined) || !values.has('sentinelPassword')) return undefined;
  return readLogin(`${values.get('sentinelUsername') ?? ''}:${values.get('sentinelPassword')}`);
}

const text = z.string().optional();
/** An undefined field counts as absent. `makeTlsOptions` checks that the texts are PEM. */
const redisTlsSchema = z.strictObject({ ca: text, cert: text, key: text, serverName: text }) as z.ZodType<RedisTls>;

const addressError = `must be ${REDIS_ADDRESS_FORMS}`;

/** Location of Redis and its shards, for workers and clients. */
export const redisOptions = {
  // No message quotes the address, because it may hold a password.
  redisUrl: z
    .string({ error: addressError })
    .refine((url) => readRedisAddress(url) !== undefined, { error: addressError }),
  redisTls: redisTlsSchema.optional(),
  shards: wholeNumber(PROCESS_RANGES.shards).default(PROCESS_DEFAULTS.shards),
  queueShards: wholeNumber(PROCESS_RANGES.queueShards).default(PROCESS_DEFAULTS.queueShards),
};
