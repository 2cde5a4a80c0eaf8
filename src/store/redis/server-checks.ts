import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../../domain/errors.ts';
import { nameRedisError, outageBecause } from './errors.ts';
import { askAllMasters, askMasters, readField, unlessForbidden } from './servers.ts';

/**
 * Oldest Redis version that turnfold supports. Scripts that must run while Redis is full need script flags, which older
 * versions do not compile.
 */
export const LEAST_REDIS = '7.0';

/** Compares version numbers such as 7.0.15. A suffix after a dash is ignored. */
export function isAtLeast(version: string, least: string): boolean {
  const found = toNumbers(version);
  for (const [place, wanted] of toNumbers(least).entries()) {
    const there = found[place] ?? 0;
    if (there !== wanted) return there > wanted;
  }
  return true;
}

function toNumbers(version: string): number[] {
  return (version.split('-', 1)[0] ?? '').split('.').map(Number);
}

/**
 * Refuses a Redis older than 7.0. Accepts a server that forbids asking for its version.
 * @throws incompatible_store if a server is older
 */
export async function checkServerVersion(redis: Redis): Promise<void> {
  const { answers } = await askMasters(redis, readVersion);
  const found = answers.find((version) => !isAtLeast(version, LEAST_REDIS));
  if (found === undefined) return;
  const field = 'redis_version';
  throw new TurnfoldError(
    'incompatible_store',
    `${field}: this Redis is ${found}, but turnfold needs ${LEAST_REDIS} or later. Upgrade this Redis, or use another one.`,
    { field, details: { found, wanted: LEAST_REDIS } },
  );
}

/** Reads the version from INFO. Valkey reports the Redis version that it is compatible with. */
async function readVersion(master: Redis): Promise<string | undefined> {
  const info = await unlessForbidden(master.info('server'));
  return info && readField(info, 'redis_version');
}

export interface MemoryUse {
  readonly usedBytes: number;
  /** Memory limit (`maxmemory`) in bytes, 0 without a limit. */
  readonly limitBytes: number;
}

/** Memory use of one server, as its INFO command reports. */
export interface MemoryState extends MemoryUse {
  readonly evictionPolicy: string | undefined;
  /** Keys that the server has evicted since it started. */
  readonly evictedKeys: number;
}

/**
 * Refuses a server that evicts keys, because it would lose accepted turns. This includes servers without a memory
 * limit, because a limit may be set later.
 * @throws incompatible_store if a server may evict keys, naming the setting
 */
export async function checkEviction(redis: Redis): Promise<void> {
  refuseEviction((await askMasters(redis, readMemoryState)).answers);
}

function refuseEviction(servers: readonly MemoryState[]): void {
  for (const { evictionPolicy: policy } of servers) {
    if (policy === undefined || policy === 'noeviction') continue;
    const field = 'maxmemory-policy';
    throw new TurnfoldError(
      'incompatible_store',
      `${field}: this Redis is set to ${policy}, so it would evict accepted turns once its memory is full. Set it to noeviction.`,
      { field, details: { found: policy, wanted: 'noeviction' } },
    );
  }
}

/**
 * Reads the memory use of the server that is nearest to its limit. Returns undefined if no server has a limit or if
 * every server forbids INFO.
 */
export async function readMemory(redis: Redis): Promise<MemoryUse | undefined> {
  const { answers } = await askMasters(redis, readMemoryState);
  const limited = answers.filter(({ limitBytes }) => limitBytes > 0);
  return limited.reduce<MemoryUse | undefined>((worst, { usedBytes, limitBytes }) => {
    const isWorse = worst === undefined || usedBytes / limitBytes > worst.usedBytes / worst.limitBytes;
    return isWorse ? { usedBytes, limitBytes } : worst;
  }, undefined);
}

/**
 * Reads the memory use by INFO, because managed servers hide CONFIG but allow INFO. Returns undefined if a server
 * forbids INFO too.
 */
export async function readMemoryState(master: Redis): Promise<MemoryState | undefined> {
  const info = await unlessForbidden(master.info('memory', 'stats'));
  return info === undefined ? undefined : parseMemoryState(info);
}

export function parseMemoryState(info: string): MemoryState {
  const number = (name: string): number => Number(readField(info, name) ?? 0);
  return {
    evictionPolicy: readField(info, 'maxmemory_policy'),
    usedBytes: number('used_memory'),
    limitBytes: number('maxmemory'),
    evictedKeys: number('evicted_keys'),
  };
}

/**
 * Reads if every server writes an append-only file. Without one, a restart loses the writes since the last snapshot. Returns
 * undefined if every server forbids INFO.
 */
export async function readAppendOnly(redis: Redis): Promise<boolean | undefined> {
  const { answers } = await askMasters(redis, async (master) => {
    const info = await unlessForbidden(master.info('persistence'));
    return info && readField(info, 'aof_enabled');
  });
  return answers.length === 0 ? undefined : answers.every((enabled) => enabled === '1');
}

/**
 * Lua script that is declared to write but does not. Redis refuses it whenever Redis would refuse a write. The script
 * uses no key, so any server runs it.
 */
const MIGHT_WRITE = '#!lua\nreturn 1';

/**
 * Checks that this server accepts a write now. With a full disk or missing replicas, a server still answers reads.
 * @throws the error reply of the server: MISCONF, NOREPLICAS, READONLY, OOM
 */
export async function proveWrites(server: Redis): Promise<void> {
  await server.call('eval', [MIGHT_WRITE, 0]);
}

/**
 * Like `proveWrites`, but returns the server's error instead of throwing it. Returns undefined if the server accepts
 * writes.
 */
export async function probeWrites(server: Redis): Promise<Error | undefined> {
  try {
    await proveWrites(server);
    return undefined;
  } catch (error) {
    if (error instanceof ReplyError) return error as Error;
    throw error;
  }
}

/**
 * Milliseconds to wait for the answer of one server. The readiness check has 800 ms in total, and must still report
 * which server was silent.
 */
const ANSWER_MS = 600;

/**
 * Checks that every master answers, accepts writes and evicts no keys. Each of these may have changed since the process
 * started.
 * @throws redis_unavailable, naming the silent node of a Cluster. redis_full if a master refuses writes.
 * incompatible_store if a master may evict keys.
 */
export async function checkServer(redis: Redis): Promise<void> {
  // On a worker's connection, the question would wait in a queue until Redis is back.
  if (redis.status !== 'ready') throw outageBecause('there is no connection to it');
  const [servers, [refusal]] = await Promise.all([
    askAllMasters(redis, readMemoryState, ANSWER_MS),
    askAllMasters(redis, probeWrites, ANSWER_MS),
  ]);
  refuseEviction(servers);
  if (refusal !== undefined) throw nameRedisError(refusal);
}
