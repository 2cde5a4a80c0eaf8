import { randomBytes } from 'node:crypto';
import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { DEFAULT_PREFIX } from '../domain/namespace.ts';
import { Keyspace, SCHEMAS, type SchemaRange } from './keys.ts';
import { callStore } from './records.ts';
import { checkEviction, checkServerVersion } from './redis/server-checks.ts';
import { askAllMasters, SEARCH_MS, scanKeys } from './redis/servers.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

interface DatabaseSettings {
  readonly shards: number;
  readonly prefix?: string | undefined;
}

/** Id and counter that distinguish a database from any other, and from an earlier state of itself. */
export interface DatabaseIdentity {
  readonly id: string;
  readonly counter: number;
}

export interface OpenDatabase {
  readonly keyspace: Keyspace;
  readonly identity: DatabaseIdentity;
}

/**
 * Opens the database, or creates it. A supported older database gets this program's schema number, and older programs
 * then refuse to open that database. If this program refuses a database, the database stays as it is.
 * @throws incompatible_store if the database has another number of shards, or an unsupported schema. invalid_config if
 * the URL's database number does not exist.
 */
export async function openDatabase(
  redis: Redis,
  { shards, prefix }: DatabaseSettings,
  schemas = SCHEMAS,
): Promise<OpenDatabase> {
  await checkNumber(redis);
  await Promise.all([checkServerVersion(redis), checkEviction(redis)]);
  const keyspace = new Keyspace(shards, prefix);
  await refuseEarlyDatabase(redis, keyspace);
  const { identity, ...found } = await scriptBinder(redis, keyspace)(openDatabaseScript)(shards, schemas);
  checkStoredSettings(found, shards, schemas);
  return { keyspace, identity };
}

interface StoredSettings {
  readonly schema: string;
  readonly shards: string;
}

const openDatabaseScript: ScriptDefinition<
  [shards: number, schemas: SchemaRange],
  StoredSettings & Pick<OpenDatabase, 'identity'>
> = {
  file: 'open-database',
  keys: (_, keyspace) => ({ database: keyspace.database() }),
  args: ([shards, { oldest, current }]) => ({ schema: current, oldest, shards, newId: makeDatabaseId() }),
  decode: (reply) => {
    const [schema, shards, id, counter] = reply as [string, string, string, string];
    return { schema, shards, identity: { id, counter: Number(counter) } };
  },
};

export function makeDatabaseId(): string {
  return randomBytes(8).toString('hex');
}

export function checkStoredSettings(found: StoredSettings, shards: number, schemas = SCHEMAS): void {
  const refusal = refuseSchema(found.schema, schemas) ?? refuseShards(found.shards, shards);
  if (refusal !== undefined) throw refusal;
}

/** Checks that the database number exists. If it does not, ioredis uses database 0 without an error. */
async function checkNumber(redis: Redis): Promise<void> {
  const { db: number = 0 } = redis.options;
  if (number === 0) return;
  try {
    await callStore(() => redis.select(number));
  } catch (cause) {
    if (!(cause instanceof ReplyError)) throw cause;
    const field = 'redisUrl';
    throw new TurnfoldError(
      'invalid_config',
      `${field}: this Redis has no database ${number}. Use a lower number in the path of the URL.`,
      { field, cause },
    );
  }
}

export function refuseSchema(found: string, { oldest, current }: SchemaRange = SCHEMAS): TurnfoldError | undefined {
  const schema = /^\d{1,9}$/.test(found) ? Number(found) : undefined;
  if (schema !== undefined && schema >= oldest && schema <= current) return undefined;
  const own = oldest === current ? `schema ${current}` : `schemas ${oldest} to ${current}`;
  const why =
    schema === undefined
      ? 'the record of the database has no readable schema number, so its data may be in any format. Restore the record from a backup, or use another database'
      : schema > current
        ? `the database has schema ${schema}, written by a newer turnfold. This program supports only ${own}. Update this program`
        : `the database has schema ${schema}, which this program cannot migrate. It supports only ${own}. First run a release that supports schema ${schema} and a later one, then this program`;
  return new TurnfoldError('incompatible_store', `schema: ${why}. Nothing was changed.`, {
    field: 'schema',
    details: { ...(schema !== undefined && { found: schema }), oldest, supported: current },
  });
}

function refuseShards(found: string, wanted: number): TurnfoldError | undefined {
  if (found === String(wanted)) return undefined;
  const why =
    found === ''
      ? 'the record of the database has no number of shards. Restore the record from a backup, or use another database'
      : `the database was created with ${found} shards, not ${wanted}. With another number, conversations would not be found. Set shards to ${found}, or use another database`;
  return new TurnfoldError('incompatible_store', `shards: ${why}.`, {
    field: 'shards',
    details: { ...(found !== '' && { found: Number(found) }), wanted },
  });
}

const SHARED_SCHEMA = '1';

/**
 * Refuses databases of early programs. These kept the index of a conversation as a set, and today the index is a hash.
 * Both forms had schema 1, so only the keys distinguish them. The search runs once for each database, because this
 * program then raises the schema number. A Redis user that may not run SCAN is not refused.
 */
async function refuseEarlyDatabase(redis: Redis, keyspace: Keyspace): Promise<void> {
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
  try {
    const { done } = await scanKeys(master, '{tf*}:*:ix:*', 'set').next();
    return done !== true;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return false;
    throw error;
  }
}
