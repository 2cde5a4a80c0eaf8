import type { Cluster, Redis } from 'ioredis';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { callRedis } from './connection.ts';

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
  for (const { policy } of await readServers(redis)) {
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
  const limited = (await readServers(redis)).filter(({ limitBytes }) => limitBytes > 0);
  return limited.reduce<MemoryUse | undefined>((worst, { usedBytes, limitBytes }) => {
    const isWorse = worst === undefined || usedBytes / limitBytes > worst.usedBytes / worst.limitBytes;
    return isWorse ? { usedBytes, limitBytes } : worst;
  }, undefined);
}

interface Server extends MemoryUse {
  readonly policy: string | undefined;
}

/** INFO tells all of it, and is allowed where CONFIG is not: managed servers hide that. */
async function readServers(redis: Redis): Promise<Server[]> {
  // Before a Cluster has answered once, all the nodes of its address pass for masters.
  if (redis.isCluster) await callRedis(() => redis.exists('{tf}:database'));
  const masters = redis.isCluster ? (redis as unknown as Cluster).nodes('master') : [redis];
  const infos = await Promise.all(masters.map((master) => readInfo(master, redis.isCluster)));
  return infos.flatMap((info) => (info === undefined ? [] : [parseInfo(info)]));
}

/** undefined where the user may not ask, or one node of several is away: then nothing is known of it, and nothing refused. */
async function readInfo(redis: Redis, isOneOfSeveral: boolean): Promise<string | undefined> {
  try {
    return await callRedis(() => redis.info('memory'));
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message)) return undefined;
    if (isOneOfSeveral && isTurnfoldError(error, 'redis_unavailable')) return undefined;
    throw error;
  }
}

function parseInfo(info: string): Server {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  return {
    policy: field('maxmemory_policy'),
    usedBytes: Number(field('used_memory') ?? 0),
    limitBytes: Number(field('maxmemory') ?? 0),
  };
}
