import type { Redis } from 'ioredis';
import { callRedis } from './connection.ts';
import { type MemoryState, parseMemoryState, probeWrites, readMemoryState } from './server-checks.ts';
import {
  askAllMasters,
  askMasters,
  type MasterAnswers,
  MEASURED_MS,
  nodeOf,
  readField,
  unlessForbidden,
} from './servers.ts';

/** Facts that a server reports. A field is undefined if the server forbids the question. */
export interface ServerFacts extends MemoryState {
  /** `host:port`. */
  readonly node: string;
  readonly name: 'Redis' | 'Valkey';
  /** Valkey's own version, or that of Redis. */
  readonly version: string;
  /** Redis version whose commands the server knows. */
  readonly redisVersion: string;
  /** Error for a write, absent if the server takes writes. */
  readonly writeRefusal?: string;
  readonly appendOnly: {
    readonly isOn: boolean;
    readonly hasFailed: boolean;
    readonly bytes: number;
    readonly fsync: string | undefined;
    /** Folder of the file on the server's machine. */
    readonly folder: string | undefined;
  };
  /** Replicas connected now. */
  readonly replicas: number;
  /** Empty if disabled. */
  readonly keyspaceEvents: string | undefined;
}

/** Facts of each server that takes writes. A server that forbids INFO is left out. */
export async function readServerFacts(redis: Redis): Promise<MasterAnswers<ServerFacts>> {
  return await askMasters(redis, async (master) => {
    const info = await unlessForbidden(master.info());
    if (info === undefined) return undefined;
    const config = await readConfig(master);
    const refusal = await probeWrites(master);
    return {
      node: nodeOf(master),
      ...(refusal !== undefined && { writeRefusal: refusal.message }),
      ...parseFacts(info, config),
    };
  });
}

const SETTINGS = ['appendfsync', 'dir', 'appenddirname', 'notify-keyspace-events'];

/** One setting a call, because older servers do not accept several. */
async function readConfig(redis: Redis): Promise<ReadonlyMap<string, string>> {
  const answers = await Promise.all(SETTINGS.map((name) => unlessForbidden(redis.config('GET', name))));
  const pairs = answers.flatMap((answer) => {
    const [name, value] = (answer ?? []) as (string | undefined)[];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return new Map(pairs);
}

function parseFacts(info: string, config: ReadonlyMap<string, string>): Omit<ServerFacts, 'node'> {
  const field = (name: string): string | undefined => readField(info, name);
  const number = (name: string): number => Number(field(name) ?? 0);
  const redisVersion = field('redis_version') ?? 'unknown';
  const valkeyVersion = field('valkey_version');
  const folder = config.get('dir');
  return {
    name: valkeyVersion === undefined ? 'Redis' : 'Valkey',
    version: valkeyVersion ?? redisVersion,
    redisVersion,
    ...parseMemoryState(info),
    appendOnly: {
      isOn: field('aof_enabled') === '1',
      hasFailed: field('aof_last_write_status') === 'err' || field('aof_last_bgrewrite_status') === 'err',
      bytes: number('aof_current_size'),
      fsync: config.get('appendfsync'),
      folder: folder && `${folder}/${config.get('appenddirname') ?? ''}`,
    },
    replicas: (info.match(/^slave\d+:.*state=online/gm) ?? []).length,
    keyspaceEvents: config.get('notify-keyspace-events'),
  };
}

export interface AnswerTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Lead of the server's clock over this process in ms, negative if the server is behind. */
  readonly skewMs: number;
}

/** Reads the server's clock `count` times, one after the other. The quickest answer gives the skew. */
export async function measureAnswers(redis: Redis, count: number): Promise<AnswerTimes> {
  const answers: { readonly tookMs: number; readonly skewMs: number }[] = [];
  for (let round = 0; round < count; round += 1) {
    const sentAt = performance.now();
    const [seconds, microseconds] = await callRedis(() => redis.time());
    const tookMs = performance.now() - sentAt;
    const serverMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    answers.push({ tookMs, skewMs: serverMs - (Date.now() - tookMs / 2) });
  }
  const sorted = answers.toSorted((one, other) => one.tookMs - other.tookMs);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1]?.tookMs ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), skewMs: sorted[0]?.skewMs ?? 0 };
}

/** Load of the fullest master of a Cluster. Evicted keys are added up. */
export interface ServerLoad {
  readonly usedBytes: number;
  /** Used fraction of the limit, absent without a limit. */
  readonly usedRatio?: number;
  /** Keys evicted since the start of the server. */
  readonly evictedKeys: number;
}

/** Load of the servers that answer, or undefined if every server forbids the question. */
export async function measureServerLoad(redis: Redis): Promise<ServerLoad | undefined> {
  const { answers: servers } = await askMasters(redis, readMemoryState, MEASURED_MS);
  if (servers.length === 0) return undefined;
  const ratios = servers.flatMap(({ usedBytes, limitBytes }) => (limitBytes > 0 ? [usedBytes / limitBytes] : []));
  return {
    usedBytes: Math.max(...servers.map(({ usedBytes }) => usedBytes)),
    ...(ratios.length > 0 && { usedRatio: Math.max(...ratios) }),
    evictedKeys: servers.reduce((sum, { evictedKeys }) => sum + evictedKeys, 0),
  };
}

/**
 * Pings every server that takes writes, and waits for the slowest.
 * @throws redis_unavailable, naming the node of a Cluster
 */
export async function pingServers(redis: Redis): Promise<void> {
  await askAllMasters(redis, (master) => master.ping(), MEASURED_MS);
}
