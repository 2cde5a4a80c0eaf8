import type { Commands, Database } from '../database.ts';
import { OK, ReplyError } from '../reply.ts';
import { pairsOf, readInteger } from './options.ts';

function set(database: Database, key: string, flat: readonly string[]): number {
  const pairs = pairsOf(flat, 'hset');
  return database.edit(key, 'hash', (hash) => {
    const before = hash.size;
    for (const [field, value] of pairs) hash.set(field, value);
    return hash.size - before;
  });
}

const flatOf = (database: Database, key: string): string[] => [...(database.get(key, 'hash') ?? [])].flat();

export const HASHES: Commands = {
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
  HSET: (database, key: string, ...flat) => set(database, key, flat),
  HMSET: (database, key: string, ...flat) => (set(database, key, flat), OK),
  HSETNX: (database, key: string, field: string, value: string) => {
    if (database.get(key, 'hash')?.has(field) === true) return 0;
    return set(database, key, [field, value]);
  },
  HDEL: (database, key: string, ...fields) => {
    if (database.get(key, 'hash') === undefined) return 0;
    return database.edit(key, 'hash', (hash) => fields.filter((field) => hash.delete(field)).length);
  },
  HINCRBY: (database, key: string, field: string, by: string) => {
    const old = database.get(key, 'hash')?.get(field) ?? '0';
    if (!/^-?\d+$/.test(old)) throw new ReplyError('ERR hash value is not an integer');
    const next = Number(old) + readInteger(by);
    set(database, key, [field, String(next)]);
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
};
