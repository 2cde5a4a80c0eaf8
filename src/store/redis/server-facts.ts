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

/** A field is undefined if the server forbids the command that reads the field. */
export interface RedisFacts extends MemoryState {
  readonly node: string;
  readonly name: 'Redis' | 'Valkey';
  readonly version: string;
  /** Version of Redis whose commands the server supports. */
  readonly redisVersion: string;
  /** Error with which the server refuses writes. Absent if the server accepts writes. */
  readonly writeRefusal?: string;
  readonly appendOnly: {
    readonly isOn: boolean;
    readonly hasFailed: boolean;
    readonly bytes: number;
    readonly fsync: string | undefined;
    readonly folder: string | undefined;
  };
  readonly replicas: number;
  /** Setting `notify-keyspace-events`, empty if these events are disabled. */
  readonly keyspaceEvents: string | undefined;
}

export async function readRedisFacts(redis: Redis): Promise<MasterAnswers<RedisFacts>> {
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

/** Reads settings one by one, because older servers accept only one per call. */
async function readConfig(redis: Redis): Promise<ReadonlyMap<string, string>> {
  const answers = await Promise.all(SETTINGS.map((name) => unlessForbidden(redis.config('GET', name))));
  const pairs = answers.flatMap((answer) => {
    const [name, value] = (answer ?? []) as (string | undefined)[];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return new Map(pairs);
}

function parseFacts(info: string, config: ReadonlyMap<string, string>): Omit<RedisFacts, 'node'> {
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
  /** Clock difference in ms. Negative if the server's clock is behind ours. */
  readonly skewMs: number;
}

/** Measures `count` answers, one after the other. The clock difference comes from the fastest answer. */
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

export interface ServerLoad {
  readonly usedBytes: number;
  /** Used fraction of the memory limit. Absent without a limit. */
  readonly usedRatio?: number;
  readonly evictedKeys: number;
}

/** Reads the memory use of the fullest master, and all evicted keys. Undefined if every server forbids INFO. */
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

/** @throws redis_unavailable, naming the silent node of a Cluster */
export async function pingServers(redis: Redis): Promise<void> {
  await askAllMasters(redis, (master) => master.ping(), MEASURED_MS);
}

export async function readClock(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await callRedis(() => redis.time());
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
