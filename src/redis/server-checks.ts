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

/** Memory of the server that is nearest to its limit. */
export interface MemoryUse {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

/**
 * A server that evicts keys loses accepted turns. Servers without a memory limit are refused too, because a limit may be set
 * later.
 * @throws incompatible_store, naming the setting
 */
export async function checkEviction(redis: Redis): Promise<void> {
  refuseEviction((await askMasters(redis, readServer)).answers);
}

/**
 * Like `checkEviction`, but every server must answer.
 * @throws also redis_unavailable, naming the silent nodes of a Cluster
 */
async function checkAllEviction(redis: Redis, deadlineMs: number): Promise<void> {
  refuseEviction(await askAllMasters(redis, readServer, deadlineMs));
}

function refuseEviction(servers: readonly Server[]): void {
  for (const { policy } of servers) {
    if (policy === undefined || policy === 'noeviction') continue;
    const field = 'maxmemory-policy';
    throw new TurnfoldError(
      'incompatible_store',
      `${field}: this Redis is set to ${policy}: once full it would throw away accepted turns. Set it to noeviction.`,
      { field, details: { found: policy, wanted: 'noeviction' } },
    );
  }
}

/** Returns undefined if no server has a limit or allows the question. */
export async function readMemory(redis: Redis): Promise<MemoryUse | undefined> {
  const { answers } = await askMasters(redis, readServer);
  const limited = answers.filter(({ limitBytes }) => limitBytes > 0);
  return limited.reduce<MemoryUse | undefined>((worst, { usedBytes, limitBytes }) => {
    const isWorse = worst === undefined || usedBytes / limitBytes > worst.usedBytes / worst.limitBytes;
    return isWorse ? { usedBytes, limitBytes } : worst;
  }, undefined);
}

interface Server extends MemoryUse {
  readonly policy: string | undefined;
}

/** INFO is allowed where CONFIG is not. A server that does not allow INFO passes the check. */
async function readServer(master: Redis): Promise<Server | undefined> {
  const info = await unlessForbidden(master.info('memory'));
  if (info === undefined) return undefined;
  return {
    policy: readField(info, 'maxmemory_policy'),
    usedBytes: Number(readField(info, 'used_memory') ?? 0),
    limitBytes: Number(readField(info, 'maxmemory') ?? 0),
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

/** Limit below the 800 ms of the readiness check, so that it can name the silent server. */
const ANSWER_MS = 600;

/**
 * Proves that every server that should take writes answers, takes them and evicts nothing. Each may have changed since the
 * start.
 * @throws redis_unavailable, naming the silent node of a Cluster. redis_full, incompatible_store
 */
export async function checkServer(redis: Redis): Promise<void> {
  // A worker's connection would queue the question until Redis is back.
  if (redis.status !== 'ready') throw outageBecause('there is no connection to it');
  await Promise.all([checkAllEviction(redis, ANSWER_MS), checkAllWrites(redis)]);
}

/** A refusal is an answer, not silence. */
async function checkAllWrites(redis: Redis): Promise<void> {
  const [refusal] = await askAllMasters(redis, probeWrites, ANSWER_MS);
  if (refusal !== undefined) throw nameRedisError(refusal);
}
