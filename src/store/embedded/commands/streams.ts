import type { Commands } from '../database.ts';
import { type Reply, ReplyError } from '../reply.ts';
import type { StreamEntry } from '../stream.ts';
import { Options, pairsOf, readInteger, wrongNumber } from './options.ts';

const write = ({ id, fields }: StreamEntry): Reply => [id, fields];

function limit(entries: readonly StreamEntry[], options: readonly string[]): Reply {
  const count = new Options(options).numberAfter('COUNT') ?? entries.length;
  return entries.slice(0, Math.max(0, count)).map(write);
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

export const STREAMS: Commands = {
  XADD: (database, key: string, ...given) => {
    const { makes, most, rest } = splitAdd(given);
    const [id = '*', ...fields] = rest;
    pairsOf(fields, 'xadd');
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
      return newer.length === 0 ? [] : [[key, newer.map(write)]];
    });
    return read.length === 0 ? null : read;
  },
};
