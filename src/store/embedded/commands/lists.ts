import type { Commands, Database } from '../database.ts';
import { OK, type Reply, ReplyError } from '../reply.ts';
import { Options, rangeOf, readInteger } from './options.ts';

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

function indexOf(list: readonly string[], text: string): number {
  const at = readInteger(text);
  return at < 0 ? list.length + at : at;
}

export const LISTS: Commands = {
  LLEN: (database, key: string) => read(database, key).length,
  LINDEX: (database, key: string, at: string) => {
    const list = read(database, key);
    return list[indexOf(list, at)] ?? null;
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
    const index = indexOf(list, at);
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
};
