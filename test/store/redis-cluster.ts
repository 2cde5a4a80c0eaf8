import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { findOnPath, startFromPath } from '../../src/host/local-redis/local-server.ts';

const SLOTS = 16_384;
const READY_TIMEOUT_MS = 30_000;

export interface RedisCluster {
  /** Cluster connection that finds the node of each key. */
  readonly cluster: Cluster;
  /** URLs of its nodes. Each has an equal share of the slots, in this order. */
  readonly nodes: readonly string[];
  readonly stop: () => Promise<void>;
}

/** True if a Cluster can be started here. */
export async function hasServer(): Promise<boolean> {
  return (await findOnPath(['redis-server', 'valkey-server'], process.env['PATH'] ?? '')) !== undefined;
}

/**
 * Starts a Cluster of `count` masters on free ports of 127.0.0.1. The servers stop when this process ends, even by a kill.
 */
export async function startCluster(count: number): Promise<RedisCluster> {
  const servers: LocalRedis[] = [];
  try {
    for (let index = 0; index < count; index += 1) servers.push(await startNode());
    await joinNodes(servers.map(({ url }) => new URL(url)));
  } catch (error) {
    await Promise.all(servers.map((server) => server.stop()));
    throw error;
  }
  const nodes = servers.map(({ url }) => url);
  const cluster = new Cluster(nodes);
  return {
    cluster,
    nodes,
    stop: async () => {
      cluster.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function startNode(): Promise<LocalRedis> {
  // By default nodes talk on their port + 10,000, which may be taken, or no port at all.
  const busPort = await findFreePort();
  return await startFromPath({
    env: process.env,
    serverArgs: ['--save', '', '--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
    image: '',
    cacheDir: '',
    log: () => undefined,
    signal: AbortSignal.timeout(READY_TIMEOUT_MS),
  });
}

/** Forms a Cluster as `redis-cli --cluster create` does: each node gets hash slots and an epoch, then the nodes meet. */
async function joinNodes(urls: readonly URL[]): Promise<void> {
  const nodes = urls.map(({ href }) => new Redis(href));
  try {
    const busPorts = await Promise.all(nodes.map(readBusPort));
    for (const [index, node] of nodes.entries()) {
      const share = SLOTS / nodes.length;
      await node.call('CLUSTER', 'ADDSLOTSRANGE', Math.floor(index * share), Math.floor((index + 1) * share) - 1);
      await node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    }
    for (const [index, { port }] of urls.entries()) {
      if (index > 0) await nodes[0]?.call('CLUSTER', 'MEET', '127.0.0.1', port, busPorts[index] ?? 0);
    }
    const deadline = Date.now() + READY_TIMEOUT_MS;
    while (!(await Promise.all(nodes.map((node) => isReady(node, nodes.length)))).every(Boolean)) {
      if (Date.now() > deadline) throw new Error(`${nodes.length} nodes did not become a cluster in time`);
      await delay(50);
    }
  } finally {
    for (const node of nodes) node.disconnect();
  }
}

async function readBusPort(node: Redis): Promise<string> {
  const [, port] = await node.config('GET', 'cluster-port');
  return port ?? '';
}

async function isReady(node: Redis, count: number): Promise<boolean> {
  const info = await node.cluster('INFO');
  return info.includes('cluster_state:ok') && info.includes(`cluster_size:${count}\r`);
}

async function findFreePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const listener = createServer();
  listener.once('error', reject);
  listener.listen(0, '127.0.0.1', () => {
    const address = listener.address();
    listener.close(() => {
      if (address === null || typeof address === 'string') reject(new Error('no TCP port'));
      else resolve(address.port);
    });
  });
  return await promise;
}
