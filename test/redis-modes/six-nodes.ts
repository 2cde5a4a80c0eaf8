import { onTestFinished } from 'vitest';
import { findClosedPort, makeFolder, removeFolder } from '../local-redis/fixture.ts';
import { type Server, type ServerOptions, type ServerTls, startServer, until } from './servers.ts';

const MASTERS = 3;
const SLOTS = 16_384;
/**
 * Milliseconds of silence after which nodes regard another node as dead, while the Cluster forms and while a test is about
 * to kill a node.
 */
const QUICK_MS = 1_000;
/** The same limit at any other time. It is long, because on a busy machine a living node may be silent. */
const PATIENT_MS = 60_000;

const NAMED = [
  '--tls-cluster',
  'yes',
  '--cluster-announce-hostname',
  'localhost',
  '--cluster-preferred-endpoint-type',
  'hostname',
];

export interface Node extends Server {
  /** Options that the node was started with. */
  readonly options: ServerOptions;
}

export interface SixNodes {
  readonly url: string;
  /** Finds the node that owns the slot of a key, and its replica. */
  ownersOf(key: string): Promise<{ readonly master: Node; readonly replica: Node }>;
  /** Call before the test kills this master. The other nodes then promote its replica, and no other. */
  readonly expectDeath: (master: Node) => void;
  /** Lets the nodes regard a silent node as dead soon, until the end of the test. Used for a master without a replica. */
  readonly expectDeaths: () => Promise<void>;
}

/** Starts a Cluster of three masters with one replica each, until the end of the test. Over TLS, nodes announce host names. */
export async function startSixNodes(tls?: ServerTls): Promise<SixNodes> {
  const nodes: Node[] = [];
  const busPorts: number[] = [];
  for (let at = 0; at < 2 * MASTERS; at += 1) {
    const dir = await makeFolder();
    onTestFinished(() => removeFolder(dir));
    const busPort = await findClosedPort();
    busPorts.push(busPort);
    const cluster = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
    const times = ['--cluster-node-timeout', String(QUICK_MS), '--repl-diskless-sync-delay', '0'];
    nodes.push(await startNode({ dir, args: [...cluster, ...times, ...(tls ? NAMED : [])], tls }));
  }
  await shareSlots(nodes);
  await introduce(nodes, busPorts);
  await replicate(nodes);
  await allowSilence(nodes, PATIENT_MS);
  const [first] = nodes as [Node, ...Node[]];
  return {
    url: `${tls ? 'rediss+cluster' : 'redis+cluster'}://${nodes.map(({ port }) => `${tls ? 'localhost' : '127.0.0.1'}:${port}`).join(',')}`,
    expectDeath(master) {
      const others = nodes.filter((node) => node !== master);
      const watch = async (): Promise<void> => {
        await allowSilence(others, QUICK_MS);
        await until('all nodes know of another master', async () => {
          const views = await Promise.all(others.map(({ redis }) => redis.call('CLUSTER', 'SLOTS')));
          return views.every((view) =>
            (view as [unknown, unknown, [string, number]][]).every(([, , [, port]]) => port !== master.port),
          );
        });
        await allowSilence(others, PATIENT_MS);
      };
      watch().catch(() => undefined); // the test may have ended
    },
    expectDeaths: () => allowSilence(nodes, QUICK_MS),
    async ownersOf(key) {
      const at = Math.floor(((await first.redis.cluster('KEYSLOT', key)) * MASTERS) / SLOTS);
      return { master: nodes[at] as Node, replica: nodes[at + MASTERS] as Node };
    },
  };
}

/** Starts a node until the end of the test. With the options of a dead node, it returns to the port that the others know. */
export async function startNode(options: ServerOptions): Promise<Node> {
  const server = await startServer(options);
  onTestFinished(() => server.stop());
  return { ...server, options: { ...options, port: server.port } };
}

async function allowSilence(nodes: readonly Node[], ms: number): Promise<void> {
  await Promise.all(nodes.map(({ redis }) => redis.config('SET', 'cluster-node-timeout', String(ms))));
}

async function shareSlots(nodes: readonly Node[]): Promise<void> {
  for (const [at, { redis }] of nodes.slice(0, MASTERS).entries()) {
    const [from, to] = [at, at + 1].map((share) => Math.floor((share * SLOTS) / MASTERS)) as [number, number];
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
  }
}

async function introduce([first, ...others]: readonly Node[], busPorts: readonly number[]): Promise<void> {
  for (const [at, { port }] of others.entries()) {
    await first?.redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPorts[at + 1] ?? 0);
  }
}

async function replicate(nodes: readonly Node[]): Promise<void> {
  const ids = await Promise.all(nodes.map(({ redis }) => redis.call('CLUSTER', 'MYID') as Promise<string>));
  const replicas = nodes.slice(MASTERS);
  const masters = ids.slice(0, MASTERS);
  for (const [at, { redis }] of replicas.entries()) {
    const master = ids[at] ?? '';
    await until('the replica knows its master', async () =>
      String(await redis.call('CLUSTER', 'NODES')).includes(master),
    );
    await redis.call('CLUSTER', 'REPLICATE', master);
  }
  await until('the Cluster is whole', async () => {
    const infos = await Promise.all(nodes.map(({ redis }) => redis.call('CLUSTER', 'INFO')));
    const links = await Promise.all(replicas.map(({ redis }) => redis.info('replication')));
    const isWhole = (info: unknown): boolean => /cluster_state:ok[^]*cluster_known_nodes:6\r/.test(String(info));
    return infos.every(isWhole) && links.every((link) => link.includes('master_link_status:up'));
  });
  // A node votes only after it knows all replicas.
  await until('all nodes know all replicas', async () => {
    const views = await Promise.all(nodes.map(({ redis }) => redis.call('CLUSTER', 'NODES')));
    return views.every((view) => masters.every((id) => new RegExp(`slave ${id} .* connected`).test(String(view))));
  });
}
