import type { Redis } from 'ioredis';
import { DATABASE_LOSSES, type DatabaseLoss } from '../domain/database-loss.ts';
import { checkStoredSettings, type DatabaseIdentity, makeDatabaseId, type OpenDatabase } from './database.ts';
import { type Keyspace, SCHEMAS, type SchemaRange } from './keys.ts';
import { callStore } from './records.ts';
import { readClock } from './redis/server-facts.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

const TICK_MS = 500;
/** ms for which a recorded loss of data is reported. */
const SHOWN_MS = 86_400_000;

/** Checks if the address now has another database, or an older state of the same database. A check costs one HMGET. */
export function openDatabaseWatch(redis: Redis, { keyspace, identity }: OpenDatabase, schemas = SCHEMAS) {
  const bind = scriptBinder(redis, keyspace);
  const count = bind(countDatabaseScript);
  const recover = bind(recoverDatabaseScript);
  let known = identity;
  let recovering: Promise<DatabaseLoss | undefined> | undefined;
  const compare = async (found: Partial<DatabaseIdentity>): Promise<DatabaseLoss | undefined> => {
    const { id, counter = 0 } = found;
    if (id === known.id && counter >= known.counter) {
      known = { id, counter };
      return undefined;
    }
    if (recovering !== undefined) return void (await recovering);
    const recovery = recover(known, schemas).then((result) => {
      known = result.identity;
      return result.loss;
    });
    recovering = recovery.finally(() => {
      recovering = undefined;
    });
    return await recovering;
  };
  return {
    /**
     * Returns a loss of data that this process did not know yet, after writing the record of the database again.
     * @throws incompatible_store if the database now has another number of shards or a newer schema
     */
    check: async () => {
      const [id, counter] = await callStore(() => redis.hmget(keyspace.database(), 'id', 'counter'));
      return await compare({ ...(id && { id }), counter: Number(counter) });
    },
    /** Raises the counter of the database, and checks as `check` does. Called only in the process that sweeps. */
    tick: async () => {
      const { id } = known;
      const counter = await count(id);
      return await compare(counter === undefined ? {} : { id, counter });
    },
    readLoss: () => readDatabaseLoss(redis, keyspace),
  };
}

export type DatabaseWatch = ReturnType<typeof openDatabaseWatch>;

export async function readDatabaseLoss(
  redis: Redis,
  keyspace: Keyspace,
): ReturnType<() => Promise<(DatabaseLoss & { readonly agoMs: number }) | undefined>> {
  const note = await callStore(() => redis.hget(keyspace.database(), 'loss'));
  const loss = note === null ? undefined : parseNote(note);
  if (loss === undefined) return undefined;
  const agoMs = Math.max(0, (await readClock(redis)) - loss.at);
  return agoMs < SHOWN_MS ? { ...loss, agoMs } : undefined;
}

/** Form of the note: `<found> <time in ms> <former id> <former counter> <found counter>`. */
function parseNote(note: string): DatabaseLoss | undefined {
  const [text = '', at, formerId = '', former, counter] = note.split(' ');
  const found = DATABASE_LOSSES.find((known) => known === text);
  if (found === undefined) return undefined;
  const behindMs = found === 'older' ? { behindMs: TICK_MS * Math.max(1, Number(former) - Number(counter)) } : {};
  return { found, at: Number(at), formerId, ...behindMs };
}

const countDatabaseScript: ScriptDefinition<[id: string], number | undefined> = {
  file: 'count-database',
  keys: (_, keyspace) => ({ database: keyspace.database() }),
  args: ([id]) => ({ id }),
  decode: (reply) => (reply === -1 ? undefined : (reply as number)),
};

interface Recovery {
  readonly identity: DatabaseIdentity;
  readonly loss: DatabaseLoss | undefined;
}

const recoverDatabaseScript: ScriptDefinition<[known: DatabaseIdentity, schemas: SchemaRange], Recovery> = {
  file: 'recover-database',
  keys: (_, keyspace) => ({ database: keyspace.database() }),
  args: ([{ id, counter }, { oldest, current }], { shards }) => ({
    schema: current,
    oldest,
    shards,
    knownId: id,
    knownCounter: counter,
    newId: makeDatabaseId(),
  }),
  decode: (reply, [, schemas], keyspace) => {
    const answer = reply as ['incompatible', string, string] | [string, string, number, string];
    if (answer[0] === 'incompatible') {
      const [, schema, shards] = answer as [string, string, string];
      checkStoredSettings({ schema, shards }, keyspace.shards, schemas);
    }
    const [, id, counter, note] = answer as [string, string, number, string];
    return { identity: { id, counter }, loss: parseNote(note) };
  },
};
