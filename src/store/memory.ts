import type { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { askAllMasters, askMasters, readField, unlessForbidden } from './server-info.ts';

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
export async function checkAllEviction(redis: Redis, deadlineMs: number): Promise<void> {
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
