import type { Redis } from 'ioredis';
import { callRedis } from './connection.ts';
import { probeWrites } from './server-checks.ts';
import {
  askAllMasters,
  askMasters,
  type MasterAnswers,
  MEASURED_MS,
  nodeOf,
  readField,
  unlessForbidden,
} from './servers.ts';

/** What a server says of itself. What it may not be asked is undefined. */
export interface ServerFacts {
  /** `host:port`, of several to tell them apart */
  readonly node: string;
  readonly name: 'Redis' | 'Valkey';
  /** of Valkey its own */
  readonly version: string;
  /** that commands go by: a Valkey knows those of this Redis */
  readonly redisVersion: string;
  /** what it says to a write; absent where it would take one */
  readonly writeRefusal?: string;
  readonly evictionPolicy: string | undefined;
  readonly usedBytes: number;
  /** 0: none */
  readonly limitBytes: number;
  readonly evictedKeys: number;
  readonly appendOnly: {
    readonly isOn: boolean;
    readonly hasFailed: boolean;
    readonly bytes: number;
    readonly fsync: string | undefined;
    /** where it lies, on the server's machine */
    readonly folder: string | undefined;
  };
  /** replicas that follow it now */
  readonly replicas: number;
  /** empty: none */
  readonly keyspaceEvents: string | undefined;
}

/** Of each server that takes writes; one that may not be asked is left out. */
export async function readServerFacts(redis: Redis): Promise<MasterAnswers<ServerFacts>> {
  return await askMasters(redis, async (master) => {
    const info = await unlessForbidden(master.info());
    if (info === undefined) return undefined;
    const config = new Map(Object.entries((await readConfig(master)) ?? {}));
    const refusal = await probeWrites(master);
    return {
      node: nodeOf(master),
      ...(refusal !== undefined && { writeRefusal: refusal.message }),
      ...parseFacts(info, config),
    };
  });
}

const SETTINGS = ['appendfsync', 'dir', 'appenddirname', 'notify-keyspace-events'];

/** One after the other: several at once are known from Redis 7.0. */
async function readConfig(redis: Redis): Promise<Record<string, string> | undefined> {
  const answers = await Promise.all(SETTINGS.map((name) => unlessForbidden(redis.config('GET', name))));
  const pairs = answers.flatMap((answer) => {
    const [name, value] = (answer ?? []) as (string | undefined)[];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(pairs);
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
    evictionPolicy: field('maxmemory_policy'),
    usedBytes: number('used_memory'),
    limitBytes: number('maxmemory'),
    evictedKeys: number('evicted_keys'),
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
  /** how far the server's clock is before (or, negative, behind) this process's, in ms */
  readonly skewMs: number;
}

/** Asks for the time so often, one question after the other. The clock is read where the answer was quickest. */
export async function measureAnswers(redis: Redis, count: number): Promise<AnswerTimes> {
  const answers: { readonly tookMs: number; readonly skewMs: number }[] = [];
  for (let asked = 0; asked < count; asked += 1) {
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

/** Of a Cluster's masters the one that is worst off; keys that were thrown away are added up. */
export interface ServerLoad {
  readonly usedBytes: number;
  /** of its limit; absent where no server has one */
  readonly usedRatio?: number;
  /** since the server's start */
  readonly evictedKeys: number;
}

/** Of those that answer; undefined where no server may be asked. */
export async function measureServerLoad(redis: Redis): Promise<ServerLoad | undefined> {
  const { answers: servers } = await askMasters(redis, readLoad, MEASURED_MS);
  if (servers.length === 0) return undefined;
  const numbers = servers.map(({ memory, stats }) => ({
    used: Number(readField(memory, 'used_memory') ?? 0),
    limit: Number(readField(memory, 'maxmemory') ?? 0),
    evicted: Number(readField(stats, 'evicted_keys') ?? 0),
  }));
  const ratios = numbers.flatMap(({ used, limit }) => (limit > 0 ? [used / limit] : []));
  return {
    usedBytes: Math.max(...numbers.map(({ used }) => used)),
    ...(ratios.length > 0 && { usedRatio: Math.max(...ratios) }),
    evictedKeys: numbers.reduce((sum, { evicted }) => sum + evicted, 0),
  };
}

async function readLoad(master: Redis): Promise<{ readonly memory: string; readonly stats: string } | undefined> {
  const [memory, stats] = await Promise.all([readSection(master, 'memory'), readSection(master, 'stats')]);
  return memory === undefined || stats === undefined ? undefined : { memory, stats };
}

function readSection(master: Redis, section: string): Promise<string | undefined> {
  return unlessForbidden(master.info(section));
}

/** Asks every server that takes writes, and waits for the slowest. @throws redis_unavailable, naming the node of a Cluster */
export async function pingServers(redis: Redis): Promise<void> {
  await askAllMasters(redis, (master) => master.ping(), MEASURED_MS);
}
