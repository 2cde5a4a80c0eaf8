import type { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { callRedis, callRedisOnce } from '../redis/connection.ts';

/**
 * @param field '' where the whole key is at fault
 * @param why without the value: it may be content
 */
export function corruptRecord(key: string, field: string, why: string, cause?: unknown): TurnfoldError {
  const place = field === '' ? key : `${key}, field ${field}`;
  return new TurnfoldError(
    'corrupt_record',
    `${place}: ${why}. Repair the record, or erase its conversation (docs/runbook.md).`,
    { ...(field !== '' && { field }), details: { key, field }, ...(cause !== undefined && { cause }) },
  );
}

/** How a script of ours names a corrupt record: `lua/shared/corrupt.lua`. */
const NAMED = /^CORRUPT (\S+) ([^;]*);/;
const OTHER_TYPE = /^WRONGTYPE/;
/** What Redis says when a command, or a script of ours, computes with a value of another form. */
const OTHER_FORM = /^ERR (user_script:\d+: |(hash )?value is not (an integer|a valid float)|increment or decrement)/;

/** Like `callRedis`, and codes the failure of a command on a corrupt record as `corrupt_record`. */
export async function callStore<T>(call: () => Promise<T>): Promise<T> {
  return await nameCorruption(callRedis(call));
}

/** Like `callStore`, for a call that must not be repeated on another connection. */
export async function callStoreOnce<T>(call: () => Promise<T>): Promise<T> {
  return await nameCorruption(callRedisOnce(call));
}

async function nameCorruption<T>(called: Promise<T>): Promise<T> {
  try {
    return await called;
  } catch (error) {
    throw findCorruption(error) ?? error;
  }
}

function findCorruption(cause: unknown): TurnfoldError | undefined {
  if (!(cause instanceof Error)) return undefined;
  const [, key, field = ''] = NAMED.exec(cause.message) ?? [];
  if (key !== undefined) {
    const why = field === '' ? 'the key has another type than it should' : 'the value cannot be read';
    return corruptRecord(key, field, why, cause);
  }
  const [first = ''] = keysOf(cause);
  if (OTHER_TYPE.test(cause.message)) return corruptRecord(first, '', 'the key has another type than it should', cause);
  return OTHER_FORM.test(cause.message)
    ? corruptRecord(first, '', 'one of its values cannot be read', cause)
    : undefined;
}

/** ioredis tells with a reply that is an error what was asked. */
function keysOf(cause: Error): string[] {
  const { name = '', args = [] } = (cause as { command?: { name?: string; args?: unknown[] } }).command ?? {};
  const isScript = name.startsWith('eval');
  return (isScript ? args.slice(2, 2 + Number(args[1])) : args.slice(0, 1)).map(String);
}

/** Names of an index that are looked at, in search of a key of another type. */
const MOST_NAMES = 10_000;

/**
 * A script that fails on a key of another type does not say which. Looks for it among the conversation's keys, in the order
 * of `Keyspace.conversation`, and those that its index names.
 */
export async function findKeyOfOtherType(redis: Redis, keys: readonly string[]): Promise<string | undefined> {
  const types = ['hash', 'hash', 'list', 'hash', 'hash', 'hash', 'set', 'stream', 'string', 'zset'];
  const found = await findOtherType(redis, keys.slice(0, types.length), (_, at) => types[at]);
  const [, , , , , , index = '', , , , turns = ''] = keys;
  if (found !== undefined || index === '') return found;
  const [, names] = await redis.sscan(index, '0', 'COUNT', MOST_NAMES);
  return await findOtherType(redis, names, (name) => (name.startsWith(turns) ? 'hash' : 'string'));
}

async function findOtherType(
  redis: Redis,
  keys: readonly string[],
  typeOf: (key: string, at: number) => string | undefined,
): Promise<string | undefined> {
  const types = await Promise.all(keys.map((key) => redis.type(key)));
  return keys.find((key, at) => types[at] !== 'none' && types[at] !== typeOf(key, at));
}
