import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { nameRedisError, outageBecause } from './errors.ts';
import { askAllMasters, askMasters, readField, unlessForbidden } from './servers.ts';

/** Oldest supported Redis. Scripts for a full Redis need flags, which older servers do not compile. */
export const LEAST_REDIS = '7.0';

/** Compares dotted version numbers. A suffix after a dash is ignored. */
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
 * Accepts a server that does not allow the question.
 * @throws incompatible_store
 */
export async function checkServerVersion(redis: Redis): Promise<void> {
  const { answers } = await askMasters(redis, readVersion);
  const found = answers.find((version) => !isAtLeast(version, LEAST_REDIS));
  if (found === undefined) return;
  const field = 'redis_version';
  throw new TurnfoldError(
    'incompatible_store',
    `${field}: this Redis is ${found}, and turnfold needs ${LEAST_REDIS} or later. Upgrade it, or use another.`,
    { field, details: { found, wanted: LEAST_REDIS } },
  );
}

/** Valkey reports the Redis version that it is compatible with. */
async function readVersion(master: Redis): Promise<string | undefined> {
  const info = await unlessForbidden(master.info('server'));
  return info && readField(info, 'redis_version');
}

export interface MemoryUse {
  readonly usedBytes: number;
  /** 0 without a limit. */
  readonly limitBytes: number;
}

/** Fields of INFO about the memory of one server. */
export interface MemoryState extends MemoryUse {
  readonly evictionPolicy: string | undefined;
  /** Keys evicted since the start of the server. */
  readonly evictedKeys: number;
}

/**
 * A server that evicts keys loses accepted turns. Servers without a memory limit are refused too, because a limit may be set
 * later.
 * @throws incompatible_store, naming the setting
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
      `${field}: this Redis is set to ${policy}: once full it would throw away accepted turns. Set it to noeviction.`,
      { field, details: { found: policy, wanted: 'noeviction' } },
    );
  }
}

/** Memory of the server that is nearest to its limit. Undefined if no server has a limit or allows the question. */
export async function readMemory(redis: Redis): Promise<MemoryUse | undefined> {
  const { answers } = await askMasters(redis, readMemoryState);
  const limited = answers.filter(({ limitBytes }) => limitBytes > 0);
  return limited.reduce<MemoryUse | undefined>((worst, { usedBytes, limitBytes }) => {
    const isWorse = worst === undefined || usedBytes / limitBytes > worst.usedBytes / worst.limitBytes;
    return isWorse ? { usedBytes, limitBytes } : worst;
  }, undefined);
}

/** Uses INFO, because managed servers that hide CONFIG allow INFO. Undefined if a server forbids INFO too. */
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

/** A script that may write but does not. Redis refuses it like a write. Without a key, any server runs it. */
const MIGHT_WRITE = '#!lua\nreturn 1';

/**
 * Proves that this server takes a write now. With a full disk or missing replicas it still answers reads.
 * @throws the reply of the server: MISCONF, NOREPLICAS, READONLY, OOM
 */
export async function proveWrites(server: Redis): Promise<void> {
  await server.call('eval', [MIGHT_WRITE, 0]);
}

/** Like `proveWrites`, but returns the refusal, or undefined. */
export async function probeWrites(server: Redis): Promise<Error | undefined> {
  try {
    await proveWrites(server);
    return undefined;
  } catch (error) {
    if (error instanceof ReplyError) return error as Error;
    throw error;
  }
}

/** Milliseconds for one server. The readiness check has 800 ms, so it can name a silent server. */
const ANSWER_MS = 600;

/**
 * Proves that every server that should take writes answers, takes them and evicts nothing. Each may have changed since the
 * start.
 * @throws redis_unavailable, naming the silent node of a Cluster. redis_full, incompatible_store
 */
export async function checkServer(redis: Redis): Promise<void> {
  // A worker's connection would queue the question until Redis is back.
  if (redis.status !== 'ready') throw outageBecause('there is no connection to it');
  const [servers, [refusal]] = await Promise.all([
    askAllMasters(redis, readMemoryState, ANSWER_MS),
    askAllMasters(redis, probeWrites, ANSWER_MS),
  ]);
  refuseEviction(servers);
  if (refusal !== undefined) throw nameRedisError(refusal);
}
