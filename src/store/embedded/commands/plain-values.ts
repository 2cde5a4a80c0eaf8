import type { Commands, Database } from '../database.ts';
import { OK, type Reply, ReplyError, Status } from '../reply.ts';
import { indexIn, Options, rangeOf, readInteger, readPairs, readPattern } from './options.ts';

const countOf = (keys: readonly string[], passes: (key: string) => boolean): number => keys.filter(passes).length;
const remove = (database: Database, ...keys: string[]): number => countOf(keys, (key) => database.remove(key));

function expireAt(database: Database, key: string, at: number, options: readonly string[]): number {
  const end = database.endOf(key);
  const given = new Options(options);
  if (given.has('NX') && end !== undefined) return 0;
  if (given.has('XX') && end === undefined) return 0;
  return Number(database.expire(key, at));
}

function increase(database: Database, key: string, by: number): number {
  const next = readInteger(database.get(key, 'string') ?? '0') + by;
  database.putString(key, String(next));
  return next;
}

function setFields(database: Database, key: string, flat: readonly string[]): number {
  const pairs = readPairs(flat, 'hset');
  return database.edit(key, 'hash', (hash) => {
    const before = hash.size;
    for (const [field, value] of pairs) hash.set(field, value);
    return hash.size - before;
  });
}

const flatOf = (database: Database, key: string): string[] => [...(database.get(key, 'hash') ?? [])].flat();

const read = (database: Database, key: string): readonly string[] => database.get(key, 'list') ?? [];

function pop(
  database: Database,
  key: string,
  count: string | undefined,
  take: (list: string[]) => string | undefined,
): Reply {
  if (database.get(key, 'list') === undefined) return null;
  return database.edit(key, 'list', (list) => {
    if (count === undefined) return take(list) ?? null;
    const taken: string[] = [];
    while (taken.length < readInteger(count) && list.length > 0) taken.push(take(list) as string);
    return taken;
  });
}

export const PLAIN_VALUES: Commands = {
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
  INCR: (database, key: string) => increase(database, key, 1),
  DECR: (database, key: string) => increase(database, key, -1),
  INCRBY: (database, key: string, by: string) => increase(database, key, readInteger(by)),
  HGET: (database, key: string, field: string) => database.get(key, 'hash')?.get(field) ?? null,
  HMGET: (database, key: string, ...fields) => {
    const hash = database.get(key, 'hash');
    return fields.map((field) => hash?.get(field) ?? null);
  },
  HGETALL: flatOf,
  HKEYS: (database, key: string) => [...(database.get(key, 'hash')?.keys() ?? [])],
  HVALS: (database, key: string) => [...(database.get(key, 'hash')?.values() ?? [])],
  HLEN: (database, key: string) => database.get(key, 'hash')?.size ?? 0,
  HEXISTS: (database, key: string, field: string) => Number(database.get(key, 'hash')?.has(field) === true),
  HSTRLEN: (database, key: string, field: string) => database.get(key, 'hash')?.get(field)?.length ?? 0,
  HSET: (database, key: string, ...flat) => setFields(database, key, flat),
  HMSET: (database, key: string, ...flat) => (setFields(database, key, flat), OK),
  HSETNX: (database, key: string, field: string, value: string) => {
    if (database.get(key, 'hash')?.has(field) === true) return 0;
    return setFields(database, key, [field, value]);
  },
  HDEL: (database, key: string, ...fields) => {
    if (database.get(key, 'hash') === undefined) return 0;
    return database.edit(key, 'hash', (hash) => fields.filter((field) => hash.delete(field)).length);
  },
  HINCRBY: (database, key: string, field: string, by: string) => {
    const old = database.get(key, 'hash')?.get(field) ?? '0';
    if (!/^-?\d+$/.test(old)) throw new ReplyError('ERR hash value is not an integer');
    const next = Number(old) + readInteger(by);
    setFields(database, key, [field, String(next)]);
    return next;
  },
  HRANDFIELD: (database, key: string, ...[count]) => {
    const fields = [...(database.get(key, 'hash')?.keys() ?? [])];
    for (let at = fields.length - 1; at > 0; at -= 1) {
      const other = Math.floor(Math.random() * (at + 1));
      [fields[at], fields[other]] = [fields[other] as string, fields[at] as string];
    }
    return count === undefined ? (fields[0] ?? null) : fields.slice(0, Math.abs(readInteger(count)));
  },
  HSCAN: (database, key: string, _cursor: string) => ['0', flatOf(database, key)],
  LLEN: (database, key: string) => read(database, key).length,
  LINDEX: (database, key: string, at: string) => {
    const list = read(database, key);
    return list[indexIn(list, at)] ?? null;
  },
  LRANGE: (database, key: string, from: string, to: string) => rangeOf(read(database, key), from, to),
  LPOS: (database, key: string, value: string) => {
    const at = read(database, key).indexOf(value);
    return at === -1 ? null : at;
  },
  RPUSH: (database, key: string, ...values) => database.make(key, 'list').push(...values),
  LPUSH: (database, key: string, ...values) => database.make(key, 'list').unshift(...values.toReversed()),
  LPOP: (database, key: string, ...[count]) => pop(database, key, count, (list) => list.shift()),
  RPOP: (database, key: string, ...[count]) => pop(database, key, count, (list) => list.pop()),
  RPOPLPUSH: (database, from: string, to: string) => {
    const value = pop(database, from, undefined, (list) => list.pop());
    if (typeof value === 'string') database.make(to, 'list').unshift(value);
    return value;
  },
  LSET: (database, key: string, at: string, value: string) => {
    const list = database.get(key, 'list');
    if (list === undefined) throw new ReplyError('ERR no such key');
    const index = indexIn(list, at);
    if (list[index] === undefined) throw new ReplyError('ERR index out of range');
    list[index] = value;
    return OK;
  },
  LINSERT: (database, key: string, ...[where = '', pivot = '', value = '']) => {
    const list = database.get(key, 'list');
    if (list === undefined) return 0;
    const at = list.indexOf(pivot);
    if (at === -1) return -1;
    list.splice(new Options([where]).has('BEFORE') ? at : at + 1, 0, value);
    return list.length;
  },
  LREM: (database, key: string, count: string, value: string) => {
    if (database.get(key, 'list') === undefined) return 0;
    const wanted = readInteger(count);
    return database.edit(key, 'list', (list) => {
      const places = [...list.keys()].filter((at) => list[at] === value);
      const limit = Math.abs(wanted) || places.length;
      const chosen = wanted < 0 ? places.slice(-limit) : places.slice(0, limit);
      for (const at of chosen.toReversed()) list.splice(at, 1);
      return chosen.length;
    });
  },
  LTRIM: (database, key: string, from: string, to: string) => {
    if (database.get(key, 'list') !== undefined)
      database.edit(key, 'list', (list) => list.splice(0, list.length, ...rangeOf(list, from, to)));
    return OK;
  },
  SADD: (database, key: string, ...members) => {
    const set = database.make(key, 'set');
    const before = set.size;
    for (const member of members) set.add(member);
    return set.size - before;
  },
  SREM: (database, key: string, ...members) => {
    if (database.get(key, 'set') === undefined) return 0;
    return database.edit(key, 'set', (set) => members.filter((member) => set.delete(member)).length);
  },
  SMEMBERS: (database, key: string) => [...(database.get(key, 'set') ?? [])],
  SISMEMBER: (database, key: string, member: string) => Number(database.get(key, 'set')?.has(member) === true),
  SCARD: (database, key: string) => database.get(key, 'set')?.size ?? 0,
};
