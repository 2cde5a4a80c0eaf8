import { z } from 'zod';
import { PROCESS_DEFAULTS, PROCESS_RANGES, prefixSchema, wholeNumber } from '../../domain/process-options.ts';

/** TLS settings for the connection to Redis. Each text is in PEM. Node's defaults apply to all other settings. */
export interface RedisTls {
  /** Certificates of the authorities to trust, one or several, instead of those that Node trusts by default. */
  readonly ca?: string;
  /** Client certificate, if Redis requires one, followed by its intermediate certificates. */
  readonly cert?: string;
  /** Private key of `cert`, without a passphrase. */
  readonly key?: string;
  /** Host name in the server's certificate, if the URL has another, for example an IP. */
  readonly serverName?: string;
}

export interface RedisLocation {
  readonly url: string;
  /** Used only if the URL scheme begins with `rediss`. */
  readonly tls?: RedisTls | undefined;
  /** Prefix that separates applications which share a Redis. Absent: the application without a prefix. */
  readonly prefix?: string | undefined;
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
  /** User and password in the URL are for the master. Sentinels get the same password unless `sentinels` has one. */
  | ({
      readonly kind: 'sentinel';
      readonly nodes: readonly RedisNode[];
      readonly master: string;
      readonly database: number;
      readonly sentinels: Login;
    } & Credentials)
  | ({ readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] } & Credentials);

/** Accepted forms of a URL, for error messages that never quote an invalid URL, which may contain a password. */
export const REDIS_ADDRESS_FORMS =
  'redis://[user:password@]host[:port][/database], redis+sentinel://[user:password@]host[:port],…/master[/database][?sentinelPassword=…], or redis+cluster://[user:password@]host[:port],… without a database. Use rediss for TLS';

const PORTS = { sentinel: 26_379, cluster: 6_379 } as const;
const SEVERAL =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/?]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;

/** Reads a Redis URL. Undefined if the text has none of the accepted forms. */
export function readRedisAddress(text: string): RedisAddress | undefined {
  const parts = SEVERAL.exec(text)?.groups;
  if (parts === undefined) return isSingle(text) ? { kind: 'single', url: text } : undefined;
  const { scheme, kind, login = '', hosts = '', path = '', query } = parts;
  const nodes = hosts.split(',').map((host) => readNode(host, PORTS[kind as keyof typeof PORTS]));
  if (!nodes.every((node) => node !== undefined)) return undefined;
  const credentials = readLogin(login);
  if (credentials === undefined) return undefined;
  const isTls = scheme === 'rediss';
  if (kind === 'cluster') {
    return path === '' && query === undefined ? { kind: 'cluster', nodes, ...credentials, isTls } : undefined;
  }
  const [, master, database = '0'] = /^([\w.-]+)(?:\/(\d+))?$/.exec(path) ?? [];
  // A Sentinel that needs no password accepts any password.
  const { password } = credentials;
  const sentinels = query === undefined ? (password === undefined ? {} : { password }) : readSentinelLogin(query);
  if (master === undefined || sentinels === undefined) return undefined;
  return { kind: 'sentinel', nodes, master, database: Number(database), sentinels, ...credentials, isTls };
}

export function listNodes(address: RedisAddress): readonly RedisNode[] {
  if (address.kind !== 'single') return address.nodes;
  const node = readNode(new URL(address.url).host, PORTS.cluster);
  return node === undefined ? [] : [node];
}

export function usesTls(address: RedisAddress): boolean {
  return address.kind === 'single' ? /^rediss:/i.test(address.url) : address.isTls;
}

/** Writes an address without user, password and query, because the query may also contain a password. */
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
  return /^rediss?:$/.test(protocol) && /^[^,]+$/.test(hostname) && /^(\/\d*)?$/.test(pathname);
}

function readNode(text: string, defaultPort: number): RedisNode | undefined {
  if (!URL.canParse(`http://${text}`)) return undefined;
  // Node's URL drops port 80, because that is the default port of http.
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
    return undefined;
  }
}

/**
 * Reads the login for Sentinels: `sentinelPassword=…`, and optionally `sentinelUsername=…`. A `+` is not decoded to a
 * space.
 */
function readSentinelLogin(query: string): Login | undefined {
  const pairs = query.split('&').map((pair) => /^(sentinelUsername|sentinelPassword)=(.*)$/.exec(pair)?.slice(1));
  const values = new Map(pairs.map((pair) => [pair?.[0], pair?.[1]]));
  if (values.has(undefined) || !values.has('sentinelPassword')) return undefined;
  return readLogin(`${values.get('sentinelUsername') ?? ''}:${values.get('sentinelPassword')}`);
}

const text = z.string().optional();
/** A field with the value undefined counts as absent. `makeTlsOptions` checks that the texts are PEM. */
const redisTlsSchema = z.strictObject({ ca: text, cert: text, key: text, serverName: text }) as z.ZodType<RedisTls>;

const addressError = `must be ${REDIS_ADDRESS_FORMS}`;

/** Options with which workers and clients find Redis and its shards. */
export const redisOptions = {
  redisUrl: z
    .string({ error: addressError })
    .refine((url) => readRedisAddress(url) !== undefined, { error: addressError }),
  redisTls: redisTlsSchema.optional(),
  prefix: prefixSchema.optional(),
  shards: wholeNumber(PROCESS_RANGES.shards).default(PROCESS_DEFAULTS.shards),
  queueShards: wholeNumber(PROCESS_RANGES.queueShards).default(PROCESS_DEFAULTS.queueShards),
};
