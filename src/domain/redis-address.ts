export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly isTls: boolean;
}

/** Where a Redis is, by how it is run. */
export type RedisAddress =
  | { readonly kind: 'single'; readonly url: string }
  /** the Sentinels say who the master of that name is; the credentials are the master's */
  | ({
      readonly kind: 'sentinel';
      readonly nodes: readonly RedisNode[];
      readonly master: string;
      readonly database: number;
    } & Credentials)
  /** some nodes of a Cluster, which name the others */
  | ({ readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] } & Credentials);

/** For messages: an address that is none of these is never quoted, it may hold a password. */
export const REDIS_ADDRESS_FORMS =
  'redis://[user:password@]host[:port][/database], or redis+sentinel://[user:password@]host[:port],…/master[/database]; rediss for TLS';

const PORTS = { sentinel: 26_379, cluster: 6_379 } as const;
const SEVERAL =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/]+)(?:\/(?<path>.*))?$/;

/** undefined where the text is no such address */
export function readRedisAddress(text: string): RedisAddress | undefined {
  const parts = SEVERAL.exec(text)?.groups;
  if (parts === undefined) return isSingle(text) ? { kind: 'single', url: text } : undefined;
  const { scheme, kind, login = '', hosts = '', path = '' } = parts;
  const nodes = hosts.split(',').map((host) => readNode(host, PORTS[kind as keyof typeof PORTS]));
  if (!nodes.every((node) => node !== undefined)) return undefined;
  const credentials = { ...readLogin(login), isTls: scheme === 'rediss' };
  // The connections know a Cluster, and keys and queues are made for one; but a failover of one was not survived in tests yet.
  if (kind === 'cluster') return undefined;
  const [, master, database = '0'] = /^([\w.-]+)(?:\/(\d+))?$/.exec(path) ?? [];
  if (master === undefined) return undefined;
  return { kind: 'sentinel', nodes, master, database: Number(database), ...credentials };
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

function readLogin(login: string): Pick<Credentials, 'username' | 'password'> {
  const [username = '', ...rest] = login.split(':');
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(rest.length > 0 && { password: decodeURIComponent(rest.join(':')) }),
  };
}
