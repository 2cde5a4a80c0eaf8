import type { Commands, Database } from '../database.ts';
import { OK, ReplyError } from '../reply.ts';
import { Options, readInteger } from './options.ts';

function add(database: Database, key: string, by: number): number {
  const next = readInteger(database.get(key, 'string') ?? '0') + by;
  database.putString(key, String(next));
  return next;
}

export const STRINGS: Commands = {
  GET: (database, key: string) => database.get(key, 'string') ?? null,
  MGET: (database, ...keys) =>
    keys.map((key) => (database.typeOf(key) === 'string' ? (database.get(key, 'string') ?? null) : null)),
  STRLEN: (database, key: string) => database.get(key, 'string')?.length ?? 0,
  SET: (database, key: string, value: string, ...given) => {
    const options = new Options(given);
    const exists = database.typeOf(key) !== undefined;
    const before = options.has('GET') ? (database.get(key, 'string') ?? null) : undefined;
    if (options.has(exists ? 'NX' : 'XX')) return before ?? null;
    const seconds = options.numberAfter('EX');
    const ms = options.numberAfter('PX') ?? (seconds === undefined ? undefined : 1_000 * seconds);
    if (ms !== undefined && ms <= 0) throw new ReplyError("ERR invalid expire time in 'set' command");
    const end = options.has('KEEPTTL') ? database.endOf(key) : undefined;
    database.remove(key);
    database.putString(key, value);
    database.expire(key, ms === undefined ? end : database.now() + ms);
    return before === undefined ? OK : before;
  },
  INCR: (database, key: string) => add(database, key, 1),
  DECR: (database, key: string) => add(database, key, -1),
  INCRBY: (database, key: string, by: string) => add(database, key, readInteger(by)),
};
