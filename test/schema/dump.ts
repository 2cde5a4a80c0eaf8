import type { Redis } from 'ioredis';

/** Text, or base64 of bytes that are no text. */
type Value = string | { readonly base64: string };

export interface DumpedKey {
  readonly key: string;
  readonly type: 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream';
  /** Milliseconds until the key expires. */
  readonly ttl?: number;
  /** A string has one row. Rows of a hash are name and value, of a sorted set member and score, of a stream id and fields. */
  readonly rows: readonly (readonly Value[])[];
}

export interface Dump {
  readonly schema: number;
  /** Time of the dump in ms since epoch. */
  readonly at: number;
  readonly keys: readonly DumpedKey[];
}

export async function dumpDatabase(redis: Redis): Promise<Dump> {
  const names = (await redis.keys('*')).toSorted();
  const keys: DumpedKey[] = [];
  for (const key of names) {
    const type = (await redis.type(key)) as DumpedKey['type'];
    const ttl = await redis.pttl(key);
    keys.push({ key, type, ...(ttl > 0 && { ttl }), rows: await readRows(redis, key, type) });
  }
  return { schema: Number(await redis.hget('{tf}:database', 'schema')), at: Date.now(), keys };
}

async function readRows(redis: Redis, key: string, type: DumpedKey['type']): Promise<Value[][]> {
  if (type === 'string') return [[encode(await redis.getBuffer(key))]];
  if (type === 'list') return (await redis.lrangeBuffer(key, 0, -1)).map((value) => [encode(value)]);
  if (type === 'set') return (await redis.smembersBuffer(key)).map((value) => [encode(value)]);
  if (type === 'zset') return inPairs((await redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES')).map(encode));
  if (type === 'hash') {
    const fields = await redis.hgetallBuffer(key);
    return Object.keys(fields)
      .toSorted()
      .map((name) => [name, encode(fields[name] ?? null)]);
  }
  return (await redis.xrange(key, '-', '+')).map(([id, fields]) => [id, ...fields]);
}

function inPairs(flat: readonly Value[]): Value[][] {
  return Array.from({ length: flat.length / 2 }, (_, at) => flat.slice(2 * at, 2 * at + 2));
}

function encode(bytes: Buffer | null): Value {
  const text = bytes?.toString('utf8') ?? '';
  return bytes === null || Buffer.from(text).equals(bytes) ? text : { base64: bytes.toString('base64') };
}

const DAY_MS = 86_400_000;

/**
 * Writes a dump into an empty Redis, as if it was made now: times near that of the dump move along. Otherwise waits and
 * leases of an old dump would all have ended.
 * @param change changes each text, after its times
 */
export async function restoreDump(redis: Redis, { at, keys }: Dump, change = (text: string) => text): Promise<void> {
  const by = Date.now() - at;
  const decode = (value: Value): string | Buffer => {
    if (typeof value !== 'string') return Buffer.from(value.base64, 'base64');
    const moved = value.replace(/(?<!\d)1[789]\d{11}(?!\d)/g, (digits) =>
      Math.abs(Number(digits) - at) < 400 * DAY_MS ? String(Number(digits) + by) : digits,
    );
    return change(moved);
  };
  for (const { key, type, ttl, rows } of keys) {
    const values = rows.map((row) => row.map(decode));
    if (type === 'string') await redis.set(key, values[0]?.[0] ?? '');
    if (type === 'hash') await redis.hset(key, ...values.flat());
    if (type === 'list') await redis.rpush(key, ...values.flat());
    if (type === 'set') await redis.sadd(key, ...values.flat());
    if (type === 'zset')
      await redis.zadd(key, ...values.flatMap(([member = '', score = '']) => [String(score), member]));
    if (type === 'stream') for (const [id = '', ...fields] of values) await redis.xadd(key, String(id), ...fields);
    if (ttl !== undefined) await redis.pexpire(key, ttl);
  }
}
