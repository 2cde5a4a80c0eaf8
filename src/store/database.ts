import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { checkEviction, checkServerVersion } from '../redis/server-checks.ts';
import { Keyspace, STORE_SCHEMA } from './keys.ts';
import { callStore } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

export interface DatabaseSettings {
  /** Shards of the conversations, written once by the process that creates the database. */
  readonly shards: number;
}

/**
 * Opens a database, or creates it, and checks that this program supports it. It raises an older database to this program's
 * schema, which older programs then refuse to open.
 * @throws incompatible_store, invalid_config, with the setting
 */
export async function openDatabase(redis: Redis, { shards }: DatabaseSettings): Promise<Keyspace> {
  await checkNumber(redis);
  await Promise.all([checkServerVersion(redis), checkEviction(redis)]);
  const keyspace = new Keyspace(shards);
  const found = await scriptBinder(redis, keyspace)(openDatabaseScript)(shards);
  checkSchema(found.schema);
  checkShards(found.shards, shards);
  return keyspace;
}

const openDatabaseScript: ScriptDefinition<[shards: number], DatabaseSettings & { readonly schema: number }> = {
  file: 'open-database',
  keys: (_, keyspace) => [keyspace.database()],
  args: ([shards]) => [STORE_SCHEMA, shards],
  decode: (reply) => {
    const [schema, shards] = reply as [number, number];
    return { schema, shards };
  },
};

/** If the database of the address does not exist, ioredis uses database 0 without an error. */
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
    `schema: the database has schema ${schema}. This program supports schemas up to ${STORE_SCHEMA}. Update turnfold here.`,
    { field: 'schema', details: { found: schema, supported: STORE_SCHEMA } },
  );
}

function checkShards(found: number, wanted: number): void {
  if (found === wanted) return;
  throw new TurnfoldError(
    'incompatible_store',
    `shards: the database was created with ${found} shards, not ${wanted}. Conversations would not be found. Set shards to ${found}, or use another database.`,
    { field: 'shards', details: { found, wanted } },
  );
}
