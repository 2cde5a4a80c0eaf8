import { randomBytes } from 'node:crypto';
import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { checkEviction, checkServerVersion } from '../redis/server-checks.ts';
import { Keyspace, STORE_SCHEMA } from './keys.ts';
import { callStore } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

export interface DatabaseSettings {
  /** Number of shards (groups of conversations). The process that creates the database writes it once. */
  readonly shards: number;
}

/** Tells a database from any other, and from an earlier state of itself. */
export interface DatabaseIdentity {
  readonly id: string;
  /** Number that only grows while workers run. */
  readonly counter: number;
}

export interface OpenDatabase {
  readonly keyspace: Keyspace;
  readonly identity: DatabaseIdentity;
}

/**
 * Opens the database, or creates it, and checks that this program supports its schema. An older database gets this
 * program's schema, and older programs then refuse to open it.
 * @throws incompatible_store if the database has another number of shards or a newer schema. invalid_config if the
 * URL's database number does not exist.
 */
export async function openDatabase(redis: Redis, { shards }: DatabaseSettings): Promise<OpenDatabase> {
  await checkNumber(redis);
  await Promise.all([checkServerVersion(redis), checkEviction(redis)]);
  const keyspace = new Keyspace(shards);
  const { identity, ...found } = await scriptBinder(redis, keyspace)(openDatabaseScript)(shards);
  checkSettings(found, shards);
  return { keyspace, identity };
}

type FoundSettings = DatabaseSettings & { readonly schema: number };

const openDatabaseScript: ScriptDefinition<[shards: number], FoundSettings & Pick<OpenDatabase, 'identity'>> = {
  file: 'open-database',
  keys: (_, keyspace) => [keyspace.database()],
  args: ([shards]) => [STORE_SCHEMA, shards, makeDatabaseId()],
  decode: (reply) => {
    const [schema, shards, id, counter] = reply as [number, number, string, number];
    return { schema, shards, identity: { id, counter } };
  },
};

export function makeDatabaseId(): string {
  return randomBytes(8).toString('hex');
}

/** @throws incompatible_store if the database has another number of shards or a newer schema */
export function checkSettings(found: FoundSettings, shards: number): void {
  checkSchema(found.schema);
  checkShards(found.shards, shards);
}

/** Checks that the database number in the URL exists. If it does not, ioredis uses database 0 without an error. */
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

function checkSchema(schema: number): void {
  if (schema <= STORE_SCHEMA) return;
  throw new TurnfoldError(
    'incompatible_store',
    `schema: the database has schema ${schema}. This program supports only schemas up to ${STORE_SCHEMA}. Update this turnfold.`,
    { field: 'schema', details: { found: schema, supported: STORE_SCHEMA } },
  );
}

function checkShards(found: number, wanted: number): void {
  if (found === wanted) return;
  throw new TurnfoldError(
    'incompatible_store',
    `shards: the database was created with ${found} shards, not ${wanted}. With another number, conversations would not be found. Set shards to ${found}, or use another database.`,
    { field: 'shards', details: { found, wanted } },
  );
}
