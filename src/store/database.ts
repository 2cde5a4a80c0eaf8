import { type Redis, ReplyError } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { callRedis } from './connection.ts';
import { Keyspace, STORE_SCHEMA } from './keys.ts';

export interface DatabaseSettings {
  /** how many shards conversations are spread over; written once, by the first that opens a database */
  readonly shards: number;
}

/**
 * Opens a database, or makes it where it is new, and checks that it is one that this program can work on.
 * @throws incompatible_store, invalid_config, with the setting at fault
 */
export async function openDatabase(redis: Redis, { shards }: DatabaseSettings): Promise<Keyspace> {
  await checkNumber(redis);
  const keyspace = new Keyspace(shards);
  const key = keyspace.database();
  const [, , written] = await callRedis(() =>
    Promise.all([
      redis.hsetnx(key, 'schema', STORE_SCHEMA),
      redis.hsetnx(key, 'shards', shards),
      redis.hmget(key, 'schema', 'shards'),
    ]),
  );
  checkSchema(Number(written[0]));
  checkShards(Number(written[1]), shards);
  return keyspace;
}

/** Where an address names a database that is not there, ioredis goes on in database 0. */
async function checkNumber(redis: Redis): Promise<void> {
  const { db: number = 0 } = redis.options;
  if (number === 0) return;
  try {
    await callRedis(() => redis.select(number));
  } catch (cause) {
    if (!(cause instanceof ReplyError)) throw cause;
    const field = 'redisUrl';
    throw new TurnfoldError('invalid_config', `${field}: this Redis has no database of that number`, { field, cause });
  }
}

function checkSchema(schema: number): void {
  if (schema <= STORE_SCHEMA) return;
  throw new TurnfoldError(
    'incompatible_store',
    `schema: the database has schema ${schema}, this program knows schemas up to ${STORE_SCHEMA}. Update turnfold here.`,
    { field: 'schema', details: { found: schema, supported: STORE_SCHEMA } },
  );
}

function checkShards(found: number, wanted: number): void {
  if (found === wanted) return;
  throw new TurnfoldError(
    'incompatible_store',
    `shards: the database was made with ${found} shards, not ${wanted}: conversations would not be found. Set shards to ${found}, or use another database.`,
    { field: 'shards', details: { found, wanted } },
  );
}
