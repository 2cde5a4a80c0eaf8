import type { Redis } from 'ioredis';
import { probeWrites } from '../../redis/prove-writes.ts';
import { askMasters, type MasterAnswers, nodeOf, readField, unlessForbidden } from '../server-info.ts';

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
