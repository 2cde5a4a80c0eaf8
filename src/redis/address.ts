import { z } from 'zod';
import { PROCESS_DEFAULTS, PROCESS_RANGES, wholeNumber } from '../domain/process-options.ts';

/** What a TLS connection to Redis is made with, beside what Node has by itself. Texts, each in PEM. */
export interface RedisTls {
  /** whom to trust, instead of the authorities that Node knows; one certificate or several */
  readonly ca?: string;
  /** ours, where Redis asks for one, with those between it and its authority */
  readonly cert?: string;
  /** the key of `cert`, without a passphrase */
  readonly key?: string;
  /** whom the servers' certificates name, where that is not the host of the address: an IP, most often */
  readonly serverName?: string;
}

/** Where a Redis is, with what else it takes to reach it. */
export interface RedisLocation {
  /** of one server, of Sentinels or of a Cluster */
  readonly url: string;
  /** without effect unless the address is `rediss` */
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

/** Where a Redis is, by how it is run. */
export type RedisAddress =
  | { readonly kind: 'single'; readonly url: string }
  /**
   * the Sentinels say who the master of that name is; the credentials are the master's, whose password the Sentinels are told
   * as well where they have no login of their own
   */
  | ({
      readonly kind: 'sentinel';
      readonly nodes: readonly RedisNode[];
      readonly master: string;
      readonly database: number;
      readonly sentinels: Login;
    } & Credentials)
  /** some nodes of a Cluster, which name the others */
  | ({ readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] } & Credentials);

/** For messages: an address that is none of these is never quoted, it may hold a password. */
export const REDIS_ADDRESS_FORMS =
  'redis://[user:password@]host[:port][/database], redis+sentinel://[user:password@]host[:port],…/master[/database][?sentinelPassword=…], or redis+cluster://[user:password@]host[:port],… without a database; rediss for TLS';

const PORTS = { sentinel: 26_379, cluster: 6_379 } as const;
const SEVERAL =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/?]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;

/** undefined where the text is no such address */
export function readRedisAddress(text: string): RedisAddress | undefined {
  const parts = SEVERAL.exec(text)?.groups;
  if (parts === undefined) return isSingle(text) ? { kind: 'single', url: text } : undefined;
  const { scheme, kind, login = '', hosts = '', path = '', query } = parts;
  const nodes = hosts.split(',').map((host) => readNode(host, PORTS[kind as keyof typeof PORTS]));
  if (!nodes.every((node) => node !== undefined)) return undefined;
  const credentials = readLogin(login);
  if (credentials === undefined) return undefined;
  const isTls = scheme === 'rediss';
  // A Cluster has no databases but 0.
  if (kind === 'cluster') {
    return path === '' && query === undefined ? { kind: 'cluster', nodes, ...credentials, isTls } : undefined;
  }
  const [, master, database = '0'] = /^([\w.-]+)(?:\/(\d+))?$/.exec(path) ?? [];
  // By default the password of the master, and of no user: a Sentinel that asks for none takes any of its default user's.
  const { password } = credentials;
  const sentinels = query === undefined ? (password === undefined ? {} : { password }) : readSentinelLogin(query);
  if (master === undefined || sentinels === undefined) return undefined;
  return { kind: 'sentinel', nodes, master, database: Number(database), sentinels, ...credentials, isTls };
}

/** The servers that are asked first. */
export function listNodes(address: RedisAddress): readonly RedisNode[] {
  if (address.kind !== 'single') return address.nodes;
  const node = readNode(new URL(address.url).host, PORTS.cluster);
  return node === undefined ? [] : [node];
}

export function usesTls(address: RedisAddress): boolean {
  return address.kind === 'single' ? /^rediss:/i.test(address.url) : address.isTls;
}

/** As it may be shown: without user, password and query, which may hold a password too. */
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
  // A comma names several, which one server is not.
  return /^rediss?:$/.test(protocol) && /^[^,]+$/.test(hostname) && /^(\/\d*)?$/.test(pathname);
}

function readNode(text: string, defaultPort: number): RedisNode | undefined {
  if (!URL.canParse(`http://${text}`)) return undefined;
  // Node's own rules for hosts and ports; http's port 80 is told apart by the text.
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

/** `sentinelPassword=…`, and before or behind it `sentinelUsername=…`. As in a login `+` is no space. */
function readSentinelLogin(query: string): Login | undefined {
  const pairs = query.split('&').map((pair) => /^(sentinelUsername|sentinelPassword)=(.*)$/.exec(pair)?.slice(1));
  const values = new Map(pairs.map((pair) => [pair?.[0], pair?.[1]]));
  if (values.has(undefined) || !values.has('sentinelPassword')) return undefined;
  return readLogin(`${values.get('sentinelUsername') ?? ''}:${values.get('sentinelPassword')}`);
}

const text = z.string().optional();
/** What is undefined is absent. Whether a text is PEM is looked at where TLS is made with it. */
const redisTlsSchema = z.strictObject({ ca: text, cert: text, key: text, serverName: text }) as z.ZodType<RedisTls>;

const addressError = `must be ${REDIS_ADDRESS_FORMS}`;

/** Where Redis is, and how it is spread: what workers and clients of it are both told. */
export const redisOptions = {
  // The address may hold a password: no message quotes it.
  redisUrl: z
    .string({ error: addressError })
    .refine((url) => readRedisAddress(url) !== undefined, { error: addressError }),
  redisTls: redisTlsSchema.optional(),
  shards: wholeNumber(PROCESS_RANGES.shards).default(PROCESS_DEFAULTS.shards),
  queueShards: wholeNumber(PROCESS_RANGES.queueShards).default(PROCESS_DEFAULTS.queueShards),
};
