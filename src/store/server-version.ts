import type { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { isAtLeast, LEAST_REDIS } from '../domain/version-number.ts';
import { askMasters, readField, unlessForbidden } from './server-info.ts';

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
