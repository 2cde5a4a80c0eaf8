import type { Commands, Database } from '../database.ts';
import { OK, ReplyError, Status } from '../reply.ts';
import { Options, readInteger, readPattern } from './options.ts';

const countOf = (keys: readonly string[], passes: (key: string) => boolean): number => keys.filter(passes).length;
const remove = (database: Database, ...keys: string[]): number => countOf(keys, (key) => database.remove(key));

function expireAt(database: Database, key: string, at: number, options: readonly string[]): number {
  const end = database.endOf(key);
  const given = new Options(options);
  if (given.has('NX') && end !== undefined) return 0;
  if (given.has('XX') && end === undefined) return 0;
  return Number(database.expire(key, at));
}

export const KEYS: Commands = {
  EXISTS: (database, ...keys) => countOf(keys, (key) => database.typeOf(key) !== undefined),
  DEL: remove,
  UNLINK: remove,
  TYPE: (database, key: string) => new Status(database.typeOf(key) ?? 'none'),
  KEYS: (database, pattern: string) => database.keys().filter((key) => readPattern(pattern).test(key)),
  SCAN: (database, _cursor: string, ...options) => {
    const matches = readPattern(new Options(options).after('MATCH') ?? '*');
    const type = new Options(options).after('TYPE');
    const isListed = (key: string): boolean =>
      matches.test(key) && (type ?? database.typeOf(key)) === database.typeOf(key);
    return ['0', database.keys().filter(isListed)];
  },
  DBSIZE: (database) => database.size,
  FLUSHALL: (database) => (database.clear(), OK),
  FLUSHDB: (database) => (database.clear(), OK),
  EXPIRE: (database, key: string, seconds: string, ...options) =>
    expireAt(database, key, database.now() + 1_000 * readInteger(seconds), options),
  PEXPIRE: (database, key: string, ms: string, ...options) =>
    expireAt(database, key, database.now() + readInteger(ms), options),
  PEXPIREAT: (database, key: string, at: string, ...options) => expireAt(database, key, readInteger(at), options),
  PERSIST: (database, key: string) => Number(database.endOf(key) !== undefined && database.expire(key, undefined)),
  PTTL: (database, key: string) => {
    if (database.typeOf(key) === undefined) return -2;
    const end = database.endOf(key);
    return end === undefined ? -1 : end - database.now();
  },
  TTL: (database, key: string) => {
    if (database.typeOf(key) === undefined) return -2;
    const end = database.endOf(key);
    return end === undefined ? -1 : Math.ceil((end - database.now()) / 1_000);
  },
  RENAME: (database, from: string, to: string) => {
    if (!database.transfer(from, to, { isCopy: false })) throw new ReplyError('ERR no such key');
    return OK;
  },
  COPY: (database, from: string, to: string, ...options) => {
    if (from === to) throw new ReplyError('ERR source and destination objects are the same');
    if (database.typeOf(to) !== undefined && !new Options(options).has('REPLACE')) return 0;
    return Number(database.transfer(from, to, { isCopy: true }));
  },
  TIME: (database) => {
    const now = database.now();
    return [String(Math.floor(now / 1_000)), String((now % 1_000) * 1_000)];
  },
};
