import type { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { DEFAULT_PREFIX } from '../domain/namespace.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { askAllMasters } from './redis/servers.ts';

/** Schema that early programs wrote, too. */
const SHARED_SCHEMA = '1';
/** Keys that Redis examines for one command of the search. Each command takes less than a millisecond. */
const SCAN_COUNT = 1_000;
/** Time limit of the search on one master of a Cluster, in ms. A master examines about a million keys per second. */
const SEARCH_MS = 600_000;

/**
 * Refuses a database of early programs. They kept the index of a conversation as a set, and now it is a hash. Both forms had
 * schema 1, so only the keys tell them apart. The search runs once for a database, because this program then raises its schema.
 * A user of Redis that may not run SCAN is not refused.
 * @throws incompatible_store for a database of an early program. redis_unavailable if a master does not answer.
 */
export async function refuseEarlyDatabase(redis: Redis, keyspace: Keyspace): Promise<void> {
  // Early programs knew no prefix.
  if (keyspace.prefix !== DEFAULT_PREFIX) return;
  if ((await callStore(() => redis.hget(keyspace.database(), 'schema'))) !== SHARED_SCHEMA) return;
  const found = await askAllMasters(redis, (master) => hasEarlyIndex(master), SEARCH_MS);
  if (!found.includes(true)) return;
  throw new TurnfoldError(
    'incompatible_store',
    'schema: a build from before 27 November 2026 wrote this database, in a form that this program cannot migrate. Finish its conversations with that build, then use an empty database. Nothing was changed.',
    { field: 'schema', details: { found: Number(SHARED_SCHEMA) } },
  );
}

async function hasEarlyIndex(master: Redis): Promise<boolean> {
  const pattern = '{tf*}:*:ix:*';
  let cursor = '0';
  do {
    const [next, keys] = await scan(master, cursor, pattern);
    if (keys.length > 0) return true;
    cursor = next;
  } while (cursor !== '0');
  return false;
}

async function scan(master: Redis, cursor: string, pattern: string): Promise<[cursor: string, keys: string[]]> {
  try {
    return await master.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT, 'TYPE', 'set');
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return ['0', []];
    throw error;
  }
}
