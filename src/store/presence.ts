import type { Cluster, Redis } from 'ioredis';
import { LOST_AFTER_MS } from '../domain/lease.ts';
import type { Keyspace } from './keys.ts';
import { findAgentScript } from './missing-agents.ts';
import { callStore } from './records.ts';
import { keySlot, nodeOf } from './redis/servers.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/**
 * ms without a renewal after which a worker whose connection ended counts as gone. A living worker connects again
 * within this time. Renewals are 0.5 s apart.
 */
const STALE_AFTER_MS = 1_000;
const NEVER_RENEWED = Number.MAX_SAFE_INTEGER;

export function connectionName(worker: string): string {
  return `turnfold:${worker}`;
}

/** List of running workers. A renewal is one command. The key is written again only on a new connection. */
export function openPresence(redis: Redis, keyspace: Keyspace, worker: string) {
  const own = new OwnConnection(redis, { slot: keySlot(keyspace.sharedTag), name: connectionName(worker) });
  const bind = scriptBinder(redis, keyspace);
  const begin = bind(beginPresenceScript);
  const end = bind(endPresenceScript);
  const find = bind(findAgentScript);
  const key = keyspace.worker(worker);
  let written: ListedConnection | undefined;
  // Until the id of a new connection is written, only the age of the key shows that this worker lives.
  redis.on('ready', () => void redis.pexpire(key, LOST_AFTER_MS).catch(() => undefined));
  return {
    renewPresence: async (presence: WorkerPresence): Promise<boolean> => {
      // The expiry is renewed first, because on a new connection the other commands take several round trips.
      const isKnown = (await callStore(() => redis.pexpire(key, LOST_AFTER_MS))) === 1;
      const connection = await callStore(() => own.read());
      const isSame = connection === written;
      if (!isKnown || !isSame) await begin(presence, connection?.id);
      written = connection;
      return !isSame;
    },
    findSilent: () => callStore(() => findSilent(redis, keyspace, own)),
    /** Removes a silent worker, unless it has renewed its key meanwhile. True for exactly one caller. */
    removeSilent: async (name: string): Promise<boolean> => (await end(name, LOST_AFTER_MS - STALE_AFTER_MS)) === 1,
    endPresence: async (name: string): Promise<void> => void (await end(name, NEVER_RENEWED)),
    findAgent: find,
  };
}

type Presence = ReturnType<typeof openPresence>;
export type PresenceStore = Omit<Presence, 'findAgent'>;
export type AgentFinder = Pick<Presence, 'findAgent'>;

export interface WorkerPresence {
  readonly worker: string;
  readonly roles: readonly string[];
  /** Names of the worker's agents. Absent for an older release, which did not record them. */
  readonly agents?: readonly string[];
  readonly startedAt: number;
}

export interface ListedWorker extends WorkerPresence {
  /**
   * Last renewal, in ms since epoch. For a lost worker, whose key has expired, this is a time that makes the worker
   * count as lost.
   */
  readonly seenAt: number;
}

/** Margin so that a reader whose clock is slightly behind also counts a worker as lost. */
const MARGIN_MS = 1_000;
const MOST_WORKERS = 1_000;

/** @param now clock of Redis in ms since epoch */
export async function listWorkers(redis: Redis, keyspace: Keyspace, now: number): Promise<ListedWorker[]> {
  const workers = await readWorkers(redis, keyspace);
  const listed = workers.map(async (presence) => {
    const restMs = await callStore(() => redis.pttl(keyspace.worker(presence.worker)));
    return { ...presence, seenAt: now - LOST_AFTER_MS + (restMs < 0 ? -MARGIN_MS : restMs) };
  });
  return (await Promise.all(listed)).toSorted((a, b) => b.seenAt - a.seenAt).slice(0, MOST_WORKERS);
}

/** An agent that at least one running worker has. */
export interface ServedAgent {
  readonly agent: string;
  /** Number of running workers that have the agent. */
  readonly workers: number;
  /** Roles of these workers, such as `turn`. Without `turn`, no turn of the agent is answered. */
  readonly roles: readonly string[];
}

/** Lists agents by name. Workers of a release that did not record its agents are left out. */
export async function listAgents(redis: Redis, keyspace: Keyspace): Promise<ServedAgent[]> {
  const workers = await listWorkers(redis, keyspace, LOST_AFTER_MS);
  const having = new Map<string, ListedWorker[]>();
  for (const worker of workers.filter(({ seenAt }) => seenAt > 0)) {
    for (const agent of worker.agents ?? []) having.set(agent, [...(having.get(agent) ?? []), worker]);
  }
  return [...having]
    .map(([agent, found]) => ({
      agent,
      workers: found.length,
      roles: [...new Set(found.flatMap(({ roles }) => roles))].toSorted(),
    }))
    .toSorted((a, b) => (a.agent < b.agent ? -1 : 1));
}

async function readWorkers(redis: Redis, keyspace: Keyspace): Promise<WorkerPresence[]> {
  const entries = await callStore(() => redis.hgetall(keyspace.workers()));
  return Object.entries(entries).flatMap(decode);
}

export interface SilentWorker extends WorkerPresence {
  /**
   * - `gone`: the connection of the worker has ended. The process has ended, or reconnects late.
   * - `lost`: the worker has not renewed its key for `LOST_AFTER_MS`. The worker may be frozen, so each of its leases
   *   ends at its own time.
   */
  readonly state: 'gone' | 'lost';
}

/** Finds dead workers by three commands, and one more for each key whose connection has ended. */
async function findSilent(redis: Redis, keyspace: Keyspace, own: OwnConnection): Promise<SilentWorker[]> {
  const workers = await readWorkers(redis, keyspace);
  if (workers.length === 0) return [];
  const ids = await redis.mget(...workers.map(({ worker }) => keyspace.worker(worker)));
  const connections = workers.flatMap((presence, at) => {
    const id = Number(ids[at] || Number.NaN);
    return Number.isSafeInteger(id) ? [{ presence, id, name: connectionName(presence.worker) }] : [];
  });
  const lost = workers.filter((_, at) => ids[at] === null).map((presence) => ({ ...presence, state: 'lost' }) as const);
  const gone = (await own.findEnded(connections)).map(async ({ presence }) => {
    const restMs = await redis.pttl(keyspace.worker(presence.worker));
    return restMs > LOST_AFTER_MS - STALE_AFTER_MS ? [] : [{ ...presence, state: 'gone' } as const];
  });
  return [...lost, ...(await Promise.all(gone)).flat()];
}

const beginPresenceScript: ScriptDefinition<[presence: WorkerPresence, id: number | undefined], unknown> = {
  file: 'begin-presence',
  keys: ([{ worker }], keyspace) => ({
    workers: keyspace.workers(),
    key: keyspace.worker(worker),
    missing: keyspace.missingAgents(),
  }),
  args: ([presence, connection]) => ({
    worker: presence.worker,
    details: encode(presence),
    connection,
    ttlMs: LOST_AFTER_MS,
  }),
  decode: (reply) => reply,
};

const endPresenceScript: ScriptDefinition<[worker: string, renewedMs: number], number> = {
  file: 'end-presence',
  keys: ([worker], keyspace) => ({ workers: keyspace.workers(), key: keyspace.worker(worker) }),
  args: ([worker, renewedMs]) => ({ worker, renewedMs }),
  decode: (reply) => reply as number,
};

function encode({ roles, startedAt, agents }: WorkerPresence): string {
  return [roles.join(','), startedAt, ...(agents === undefined ? [] : [agents.join(',')])].join('|');
}

function decode([worker, text]: [string, string]): WorkerPresence[] {
  const [roles, startedAt, agents] = text.split('|');
  if (!roles || !Number.isFinite(Number(startedAt))) return [];
  const served = agents === undefined ? {} : { agents: agents.split(',').filter((name) => name !== '') };
  return [{ worker, roles: roles.split(','), startedAt: Number(startedAt), ...served }];
}

/** A connection in the list of Redis. Ids repeat after a restart of Redis, so the name counts, too. */
interface ListedConnection {
  readonly id: number;
  readonly name: string;
}

/**
 * Finds the connection of this process in the list of Redis, or of the Cluster node with one chosen hash slot. Each
 * process connects under its own name.
 */
class OwnConnection {
  readonly #redis: Redis;
  readonly #slot: number;
  readonly #name: string;
  readonly #known = new WeakMap<Redis, Promise<ListedConnection | undefined>>();

  constructor(redis: Redis, { slot, name }: { slot: number; name: string }) {
    this.#redis = redis;
    this.#slot = slot;
    this.#name = name;
  }

  /**
   * Returns the same object as long as the connection is the same. Undefined if another process could not find this
   * connection: an ACL or a managed server forbids it, or a proxy hides its clients.
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

  /** Returns the connections that have ended. Empty if the server does not show its connections. */
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

/** Undefined for a refused command. Managed servers and proxies refuse CLIENT in many ways. */
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
