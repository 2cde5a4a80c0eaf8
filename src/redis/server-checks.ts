import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { nameRedisError, outageBecause } from './errors.ts';
import { askAllMasters, askMasters, readField, unlessForbidden } from './servers.ts';

/** Scripts say from then on what they may do: ours for a full Redis need it, and an older one does not compile them. */
export const LEAST_REDIS = '7.0';

/** Whether one version is as new as another; both of numbers and dots, what follows a dash left aside. */
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

/** One that may not be asked is let in. @throws incompatible_store */
export async function checkServerVersion(redis: Redis): Promise<void> {
  const { answers } = await askMasters(redis, readVersion);
  const found = answers.find((version) => !isAtLeast(version, LEAST_REDIS));
  if (found === undefined) return;
  const field = 'redis_version';
  throw new TurnfoldError(
    'incompatible_store',
    `${field}: this Redis is ${found}; turnfold needs ${LEAST_REDIS}. Upgrade it, or use another.`,
    { field, details: { found, wanted: LEAST_REDIS } },
  );
}

/** A Valkey says which Redis it is as good as. */
async function readVersion(master: Redis): Promise<string | undefined> {
  const info = await unlessForbidden(master.info('server'));
  return info && readField(info, 'redis_version');
}

/** Of the server that is nearest to its limit. */
export interface MemoryUse {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

/**
 * A server that throws keys away when it is full takes turns that were accepted. Refused without a limit, too: one may be
 * set at any time. BullMQ says it and goes on, and so do keys then.
 * @throws incompatible_store, naming the setting
 */
export async function checkEviction(redis: Redis): Promise<void> {
  refuseEviction((await askMasters(redis, readServer)).answers);
}

/** As above, of every server. @throws also redis_unavailable, naming those of a Cluster that did not answer in time */
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

/** undefined where no server has a limit, or none may be asked */
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

/** INFO tells all of it, and is allowed where CONFIG is not. Of a server that may not be asked nothing is known, and nothing refused. */
async function readServer(master: Redis): Promise<Server | undefined> {
  const info = await unlessForbidden(master.info('memory'));
  if (info === undefined) return undefined;
  return {
    policy: readField(info, 'maxmemory_policy'),
    usedBytes: Number(readField(info, 'used_memory') ?? 0),
    limitBytes: Number(readField(info, 'maxmemory') ?? 0),
  };
}

/** A script that says nothing of writing none: refused where a write is, and it writes nothing. Without a key any server runs it. */
const MIGHT_WRITE = '#!lua\nreturn 1';

/**
 * Proves that this very server would take a write now. One whose disk is full, or whose replicas are missing, answers all else.
 * @throws what the server says: MISCONF, NOREPLICAS, READONLY, OOM
 */
export async function proveWrites(server: Redis): Promise<void> {
  await server.call('eval', [MIGHT_WRITE, 0]);
}

/** As above: why it would not; undefined where it would. */
export async function probeWrites(server: Redis): Promise<Error | undefined> {
  try {
    await proveWrites(server);
    return undefined;
  } catch (error) {
    if (error instanceof ReplyError) return error as Error;
    throw error;
  }
}

/** Below the 800 ms of a check, which then cannot say who was silent. */
const ANSWER_MS = 600;

/**
 * Proves that every server that takes writes answers now, takes them, and keeps what it is given: each may have changed since
 * the start.
 * @throws redis_unavailable, naming the node of a Cluster that is silent; redis_full; incompatible_store
 */
export async function checkServer(redis: Redis): Promise<void> {
  // A worker's connection would keep the question until Redis is back.
  if (redis.status !== 'ready') throw outageBecause('there is no connection to it');
  await Promise.all([checkAllEviction(redis, ANSWER_MS), checkAllWrites(redis)]);
}

/** What a server says is an answer, not silence. */
async function checkAllWrites(redis: Redis): Promise<void> {
  const [refusal] = await askAllMasters(redis, probeWrites, ANSWER_MS);
  if (refusal !== undefined) throw nameRedisError(refusal);
}
