import type { Commands, Database } from '../database.ts';
import { type Reply, ReplyError } from '../reply.ts';
import { type Bound, readBound, readScore, type Scored, writeScore } from '../sorted-set.ts';
import type { StoredEntry } from '../stream.ts';
import { Options, rangeOf, readInteger, readPairs, readPattern, wrongNumber } from './options.ts';

const ADD_WORDS = new Set(['NX', 'XX', 'GT', 'LT', 'CH', 'INCR']);

const all = (database: Database, key: string): readonly Scored[] => database.get(key, 'zset')?.entries ?? [];
const between = (database: Database, key: string, min: Bound, max: Bound): readonly Scored[] =>
  database.get(key, 'zset')?.between(min, max) ?? [];

/** Replies with members of a sorted set. LIMIT picks a part of them. With WITHSCORES, its score follows each member. */
function write(entries: readonly Scored[], given: readonly string[]): Reply {
  const options = new Options(given);
  const from = options.numberAfter('LIMIT') ?? 0;
  const count = options.numberAfter('LIMIT', 2) ?? -1;
  const part = from < 0 ? [] : entries.slice(from, count < 0 ? undefined : from + count);
  if (!options.has('WITHSCORES')) return part.map(({ member }) => member);
  return part.flatMap(({ member, score }) => [member, writeScore(score)]);
}

function lexBetween(entries: readonly Scored[], min: string, max: string): Scored[] {
  const isOver = (member: string): boolean =>
    min === '-' || (min !== '+' && (min.startsWith('[') ? member >= min.slice(1) : member > min.slice(1)));
  const isUnder = (member: string): boolean =>
    max === '+' || (max !== '-' && (max.startsWith('[') ? member <= max.slice(1) : member < max.slice(1)));
  return entries.filter(({ member }) => isOver(member) && isUnder(member));
}

function remove(database: Database, key: string, members: readonly string[]): number {
  if (database.get(key, 'zset') === undefined) return 0;
  return database.edit(key, 'zset', (set) => members.filter((member) => set.delete(member)).length);
}

function add(database: Database, key: string, given: readonly string[]): Reply {
  const first = given.findIndex((word) => !ADD_WORDS.has(word.toUpperCase()));
  const options = new Options(given.slice(0, first));
  const pairs = readPairs(given.slice(first), 'zadd').map(([text, member]) => [readScore(text), member] as const);
  const isKept = (old: number | undefined, score: number): boolean => {
    if (old === undefined) return options.has('XX');
    return options.has('NX') || (options.has('GT') && score <= old) || (options.has('LT') && score >= old);
  };
  return database.edit(key, 'zset', (set) => {
    let [added, changed] = [0, 0];
    for (const [score, member] of pairs) {
      const old = set.scoreOf(member);
      if (isKept(old, score)) continue;
      added += Number(old === undefined);
      changed += Number(old !== undefined && old !== score);
      set.set(member, score);
    }
    return options.has('CH') ? added + changed : added;
  });
}

function pop(database: Database, key: string, count: number, isLast: boolean): Reply {
  const entries = all(database, key);
  const taken = isLast ? entries.slice(-count).toReversed() : entries.slice(0, count);
  const members = taken.map(({ member }) => member);
  remove(database, key, members);
  return write(taken, ['WITHSCORES']);
}

const membersOf = (entries: readonly Scored[]): string[] => entries.map(({ member }) => member);

const writeEntry = ({ id, fields }: StoredEntry): Reply => [id, fields];

function limit(entries: readonly StoredEntry[], options: readonly string[]): Reply {
  const count = new Options(options).numberAfter('COUNT') ?? entries.length;
  return entries.slice(0, Math.max(0, count)).map(writeEntry);
}

/** Reads the options in front of the id: `NOMKSTREAM`, and `MAXLEN` with `~` or `=`. */
function splitAdd(given: readonly string[]): {
  readonly makes: boolean;
  readonly most: number;
  readonly rest: string[];
} {
  const rest = [...given];
  const makes = rest[0]?.toUpperCase() !== 'NOMKSTREAM';
  if (!makes) rest.shift();
  if (rest[0]?.toUpperCase() !== 'MAXLEN') return { makes, most: Number.POSITIVE_INFINITY, rest };
  rest.shift();
  if (rest[0] === '~' || rest[0] === '=') rest.shift();
  return { makes, most: readInteger(rest.shift() ?? ''), rest };
}

export const ORDERED_VALUES: Commands = {
  ZADD: (database, key: string, ...given) => add(database, key, given),
  ZREM: (database, key: string, ...members) => remove(database, key, members),
  ZSCORE: (database, key: string, member: string) => {
    const score = database.get(key, 'zset')?.scoreOf(member);
    return score === undefined ? null : writeScore(score);
  },
  ZMSCORE: (database, key: string, ...members) =>
    members.map((member) => {
      const score = database.get(key, 'zset')?.scoreOf(member);
      return score === undefined ? null : writeScore(score);
    }),
  ZINCRBY: (database, key: string, by: string, member: string) => {
    const set = database.make(key, 'zset');
    const score = (set.scoreOf(member) ?? 0) + readScore(by);
    set.set(member, score);
    return writeScore(score);
  },
  ZCARD: (database, key: string) => database.get(key, 'zset')?.size ?? 0,
  ZRANK: (database, key: string, member: string) => database.get(key, 'zset')?.rankOf(member) ?? null,
  ZCOUNT: (database, key: string, min: string, max: string) =>
    between(database, key, readBound(min), readBound(max)).length,
  ZLEXCOUNT: (database, key: string, min: string, max: string) => lexBetween(all(database, key), min, max).length,
  ZRANGE: (database, key: string, ...[from = '', to = '', ...given]) => {
    const options = new Options(given);
    const isReversed = options.has('REV');
    const [min, max] = isReversed ? [to, from] : [from, to];
    const ordered = (entries: readonly Scored[]): readonly Scored[] => (isReversed ? entries.toReversed() : entries);
    if (options.has('BYSCORE')) return write(ordered(between(database, key, readBound(min), readBound(max))), given);
    if (options.has('BYLEX')) return write(ordered(lexBetween(all(database, key), min, max)), given);
    return write(rangeOf(ordered(all(database, key)), from, to), given);
  },
  ZREVRANGE: (database, key: string, ...[from = '', to = '', ...given]) =>
    write(rangeOf(all(database, key).toReversed(), from, to), given),
  ZRANGEBYSCORE: (database, key: string, ...[min = '', max = '', ...given]) =>
    write(between(database, key, readBound(min), readBound(max)), given),
  ZREVRANGEBYSCORE: (database, key: string, ...[max = '', min = '', ...given]) =>
    write(between(database, key, readBound(min), readBound(max)).toReversed(), given),
  ZRANGEBYLEX: (database, key: string, ...[min = '', max = '', ...given]) =>
    write(lexBetween(all(database, key), min, max), given),
  ZREMRANGEBYSCORE: (database, key: string, min: string, max: string) =>
    remove(database, key, membersOf(between(database, key, readBound(min), readBound(max)))),
  ZREMRANGEBYRANK: (database, key: string, from: string, to: string) =>
    remove(database, key, membersOf(rangeOf(all(database, key), from, to))),
  ZPOPMIN: (database, key: string, count = '1') => pop(database, key, readInteger(count), false),
  ZPOPMAX: (database, key: string, count = '1') => pop(database, key, readInteger(count), true),
  ZSCAN: (database, key: string, _cursor: string, ...given) => {
    const matches = readPattern(new Options(given).after('MATCH') ?? '*');
    return [
      '0',
      write(
        all(database, key).filter(({ member }) => matches.test(member)),
        ['WITHSCORES'],
      ),
    ];
  },
  XADD: (database, key: string, ...given) => {
    const { makes, most, rest } = splitAdd(given);
    const [id = '*', ...fields] = rest;
    readPairs(fields, 'xadd');
    if (!makes && database.get(key, 'stream') === undefined) return null;
    const stream = database.make(key, 'stream');
    const added = stream.add(id, fields, database.now());
    if (most < stream.size) stream.keepNewest(most);
    return added;
  },
  XLEN: (database, key: string) => database.get(key, 'stream')?.size ?? 0,
  XRANGE: (database, key: string, ...[min = '', max = '', ...options]) =>
    limit(database.get(key, 'stream')?.between(min, max) ?? [], options),
  XREVRANGE: (database, key: string, ...[max = '', min = '', ...options]) =>
    limit(database.get(key, 'stream')?.between(min, max).toReversed() ?? [], options),
  XDEL: (database, key: string, ...ids) => database.get(key, 'stream')?.trim(({ id }) => !ids.includes(id)) ?? 0,
  XTRIM: (database, key: string, kind: string, ...given) => {
    const stream = database.get(key, 'stream');
    if (stream === undefined) return 0;
    const [bound = ''] = given.filter((word) => word !== '~' && word !== '=');
    if (kind.toUpperCase() === 'MAXLEN') return stream.keepNewest(readInteger(bound));
    const kept = new Set(stream.between(bound, '+'));
    return stream.trim((entry) => kept.has(entry));
  },
  XREAD: (database, ...given) => {
    const at = given.findIndex((word) => word.toUpperCase() === 'STREAMS');
    const named = given.slice(at + 1);
    if (at === -1 || named.length % 2 === 1) throw wrongNumber('xread');
    const count = new Options(given.slice(0, at)).numberAfter('COUNT') ?? Number.POSITIVE_INFINITY;
    const [keys, ids] = [named.slice(0, named.length / 2), named.slice(named.length / 2)];
    const read = keys.flatMap((key, index) => {
      const id = ids[index] as string;
      if (id === '$') throw new ReplyError('ERR $ is resolved when the command is read');
      const newer = database.get(key, 'stream')?.between(`(${id}`, '+').slice(0, count) ?? [];
      return newer.length === 0 ? [] : [[key, newer.map(writeEntry)]];
    });
    return read.length === 0 ? null : read;
  },
};
