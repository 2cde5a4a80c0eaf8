import type { Cluster, Redis } from 'ioredis';
import { nodeOf } from './servers.ts';

/** Connection of a process in the list of Redis. The name is needed, because ids repeat after a restart of Redis. */
export interface ListedConnection {
  readonly id: number;
  readonly name: string;
}

/**
 * Finds out on one server which processes are connected. On a Redis Cluster this is the server with the keys of one hash
 * slot. Each process connects under a name of its own.
 */
export class OwnConnection {
  readonly #redis: Redis;
  readonly #slot: number;
  readonly #name: string;
  readonly #known = new WeakMap<Redis, Promise<ListedConnection | undefined>>();

  /** @param name name of the connection, without spaces */
  constructor(redis: Redis, { slot, name }: { slot: number; name: string }) {
    this.#redis = redis;
    this.#slot = slot;
    this.#name = name;
  }

  /**
   * Returns this process's connection: the same object as long as it is the same connection. Undefined if another
   * process could not find the connection: an ACL or a managed server forbids it, or a proxy hides its clients.
   */
  async read(): Promise<ListedConnection | undefined> {
    const server = this.#findServer();
    if (server === undefined) return undefined;
    const known = this.#known.get(server);
    if (known !== undefined) return await known;
    const asked = this.#ask(server);
    this.#known.set(server, asked);
    const forget = (): void => void this.#known.delete(server);
    server.once('close', forget);
    asked.catch(forget);
    return await asked;
  }

  /** Finds the connections that have ended. If the server does not show its connections, the result is empty. */
  async findEnded<Connection extends ListedConnection>(
    connections: readonly Connection[],
  ): Promise<readonly Connection[]> {
    const server = this.#findServer();
    if (server === undefined || connections.length === 0) return [];
    const listed = await listConnections(server, connections);
    if (listed === undefined) return [];
    return connections.filter((connection) => !listed.has(describe(connection)));
  }

  async #ask(server: Redis): Promise<ListedConnection | undefined> {
    const id = await unlessRefused(server.client('ID'));
    if (id === undefined) return undefined;
    const own = { id, name: this.#name };
    const listed = await listConnections(server, [own]);
    return listed?.has(describe(own)) ? own : undefined;
  }

  #findServer(): Redis | undefined {
    if (!this.#redis.isCluster) return this.#redis;
    const cluster = this.#redis as unknown as Cluster;
    const owner = cluster.slots[this.#slot]?.[0];
    return cluster.nodes('master').find((master) => nodeOf(master) === owner);
  }
}

async function listConnections(
  server: Redis,
  connections: readonly ListedConnection[],
): Promise<ReadonlySet<string> | undefined> {
  const ids = connections.map(({ id }) => id);
  const text = await unlessRefused(server.call('CLIENT', 'LIST', 'ID', ...ids));
  if (typeof text !== 'string') return undefined;
  const found = text.matchAll(/^id=(\d+) .*?\bname=(\S*)/gm);
  return new Set([...found].map(([, id, name = '']) => describe({ id: Number(id), name })));
}

/** Returns undefined if the server answers with an error. Managed servers and proxies have many ways to refuse CLIENT. */
async function unlessRefused<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return undefined;
    throw error;
  }
}

function describe({ id, name }: ListedConnection): string {
  return `${id} ${name}`;
}
