import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../../domain/errors.ts';
import { nameRedisError, outageBecause } from './errors.ts';
import { askAllMasters, askMasters, readField, unlessForbidden } from './servers.ts';

/**
 * Oldest supported version. Scripts that must run while Redis is full need script flags, which older versions do not
 * compile.
 */
export const LEAST_REDIS = '7.0';

/** Compares two versions. A suffix after a dash is ignored. */
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
 * Checks the version of each server. A server that forbids INFO passes the check.
 * @throws incompatible_store if a server is older than 7.0
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

/** Reads the Redis version. Valkey reports the Redis version with which it is compatible. */
async function readVersion(master: Redis): Promise<string | undefined> {
  const info = await unlessForbidden(master.info('server'));
  return info && readField(info, 'redis_version');
}

export interface MemoryUse {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

export interface MemoryState extends MemoryUse {
  readonly evictionPolicy: string | undefined;
  readonly evictedKeys: number;
}

/**
 * Refuses servers that evict keys, because they would lose accepted turns. This includes servers without a memory
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

/** Memory of the server that is nearest to its limit. Undefined without a limit, or if INFO is forbidden. */
export async function readMemory(redis: Redis): Promise<MemoryUse | undefined> {
  const { answers } = await askMasters(redis, readMemoryState);
  const limited = answers.filter(({ limitBytes }) => limitBytes > 0);
  return limited.reduce<MemoryUse | undefined>((worst, { usedBytes, limitBytes }) => {
    const isWorse = worst === undefined || usedBytes / limitBytes > worst.usedBytes / worst.limitBytes;
    return isWorse ? { usedBytes, limitBytes } : worst;
  }, undefined);
}

/** Reads memory and eviction. Managed servers hide CONFIG but allow INFO. Undefined if a server forbids INFO, too. */
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

/** Without an append-only file, a restart loses the writes since the last snapshot. Undefined if INFO is forbidden. */
export async function readAppendOnly(redis: Redis): Promise<boolean | undefined> {
  const { answers } = await askMasters(redis, async (master) => {
    const info = await unlessForbidden(master.info('persistence'));
    return info && readField(info, 'aof_enabled');
  });
  return answers.length === 0 ? undefined : answers.every((enabled) => enabled === '1');
}

/**
 * Script that is declared to write, so Redis refuses it whenever Redis would refuse a write. The script works on any
 * server.
 */
const MIGHT_WRITE = '#!lua\nreturn 1';

/**
 * With a full disk or missing replicas, a server still answers reads.
 * @throws the error reply of the server: MISCONF, NOREPLICAS, READONLY, OOM
 */
export async function proveWrites(server: Redis): Promise<void> {
  await server.call('eval', [MIGHT_WRITE, 0]);
}

export async function probeWrites(server: Redis): Promise<Error | undefined> {
  try {
    await proveWrites(server);
    return undefined;
  } catch (error) {
    if (error instanceof ReplyError) return error as Error;
    throw error;
  }
}

/** ms for the answer of one server. The readiness check has 800 ms, and must still report which server was silent. */
const ANSWER_MS = 600;

/**
 * Checks for the readiness probe that every master answers, accepts writes and evicts no keys. All of these may have
 * changed since the process started.
 * @throws redis_unavailable, naming the silent node of a Cluster. redis_full if a master refuses writes.
 * incompatible_store if a master may evict keys.
 */
export async function checkServer(redis: Redis): Promise<void> {
  // On a worker's connection, the checks would wait until Redis is back, so this case is found first.
  if (redis.status !== 'ready') throw outageBecause('there is no connection to it');
  const [servers, [refusal]] = await Promise.all([
    askAllMasters(redis, readMemoryState, ANSWER_MS),
    askAllMasters(redis, probeWrites, ANSWER_MS),
  ]);
  refuseEviction(servers);
  if (refusal !== undefined) throw nameRedisError(refusal);
}
