import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { idSchema } from '../domain/ids.ts';
import { refuseJsonText, STORED_JSON_BOUNDS } from '../domain/json-text.ts';
import { callRedis, callRedisOnce } from './redis/connection.ts';

/**
 * Error for a corrupt record.
 * @param field '' for the whole key
 * @param why reason without the value itself, which may be user content
 */
export function corruptRecord(key: string, field: string, why: string, cause?: unknown): TurnfoldError {
  const place = field === '' ? key : `${key}, field ${field}`;
  return new TurnfoldError(
    'corrupt_record',
    `${place}: ${why}. Repair the record, or erase its conversation (docs/runbook.md).`,
    { ...(field !== '' && { field }), details: { key, field }, ...(cause !== undefined && { cause }) },
  );
}

export const OTHER_TYPE = 'the key has the wrong type of Redis value';

const NAMED = /^CORRUPT (\S+) ([^;]*);/;
const MALFORMED = /^ERR (user_script:\d+: |(hash )?value is not (an integer|a valid float)|increment or decrement)/;

/** Runs a call of the store like `callRedis`. Errors about damaged records become `corrupt_record`. */
export async function callStore<T>(call: () => Promise<T>, run = callRedis<T>): Promise<T> {
  try {
    return await run(call);
  } catch (error) {
    throw findCorruption(error) ?? error;
  }
}

/** Like `callStore`, but never repeats the call, because the call must not run on a new connection. */
export async function callStoreOnce<T>(call: () => Promise<T>): Promise<T> {
  return await callStore(call, callRedisOnce);
}

/** Reads the clock of Redis in ms, because the clocks of processes differ. */
export async function readTime(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await callStore(() => redis.time());
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

function findCorruption(cause: unknown): TurnfoldError | undefined {
  if (!(cause instanceof Error)) return undefined;
  const [, key, field = ''] = NAMED.exec(cause.message) ?? [];
  if (key !== undefined) {
    return corruptRecord(key, field, field === '' ? OTHER_TYPE : 'the value cannot be read', cause);
  }
  const [first = ''] = keysOf(cause);
  if (cause.message.startsWith('WRONGTYPE')) return corruptRecord(first, '', OTHER_TYPE, cause);
  return MALFORMED.test(cause.message)
    ? corruptRecord(first, '', 'one of its values cannot be read', cause)
    : undefined;
}

function keysOf(cause: Error): string[] {
  const { name = '', args = [] } = (cause as { command?: { name?: string; args?: unknown[] } }).command ?? {};
  const isScript = name.startsWith('eval');
  return (isScript ? args.slice(2, 2 + Number(args[1])) : args.slice(0, 1)).map(String);
}

/** Part of the name of every key that `lua/shared/quarantine.lua` renamed. Ids contain no colon. */
const SET_ASIDE = ':bad:';
const MOST_NAMES = 10_000;

/** Types of the keys of scripts, by their names in the Lua files. */
const KEY_TYPES: Readonly<Record<string, readonly string[]>> = {
  hash: 'c log ver txt pass ix turnKey positions quarantined webhooks health workers missing calibrations database'.split(
    ' ',
  ),
  zset: 'ready idle failed openPasses waiting conversations unpacked outbox keys'.split(' '),
  list: ['mb'],
  stream: ['ev', 'events', 'stream'],
  string: ['gone'],
};

/**
 * Finds the key of the wrong type on which a script failed. The script has this key, or the index of its conversation
 * lists it.
 * @param keys by their names in the Lua file
 */
export async function findKeyOfOtherType(
  redis: Redis,
  keys: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const own = Object.entries(KEY_TYPES).flatMap(([type, names]) =>
    names.flatMap((name) => (keys[name] === undefined ? [] : [{ key: keys[name], type }])),
  );
  const found = await findOtherType(redis, own);
  if (found !== undefined || keys.ix === undefined) return found;
  const listed: Readonly<Record<string, { prefix: string | undefined; type: string }>> = {
    t: { prefix: keys.turnPrefix, type: 'hash' },
    out: { prefix: keys.streamPrefix, type: 'stream' },
    sum: { prefix: keys.summaryPrefix, type: 'string' },
    op: { prefix: keys.operationPrefix, type: 'string' },
  };
  const [, fields] = await redis.hscan(keys.ix, '0', 'COUNT', MOST_NAMES);
  const names = pairsOf(fields).flatMap(([name]) => {
    const [kind = '', ...rest] = name.split(':');
    const form = listed[kind];
    // The quarantine has renamed these keys, and the index lists the new names so that an erase finds them. Their type
    // is still wrong.
    if (form === undefined || name.includes(SET_ASIDE)) return [];
    return [{ key: `${form.prefix}${rest.join(':')}`, type: form.type }];
  });
  return await findOtherType(redis, names);
}

async function findOtherType(
  redis: Redis,
  expected: readonly { readonly key: string; readonly type: string }[],
): Promise<string | undefined> {
  const types = await Promise.all(expected.map(({ key }) => redis.type(key)));
  return expected.find(({ type }, at) => types[at] !== 'none' && types[at] !== type)?.key;
}

export function pairsOf(flat: readonly string[]): [name: string, value: string][] {
  const pairs: [name: string, value: string][] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([flat[at] as string, flat[at + 1] as string]);
  return pairs;
}

/** Largest valid seq (message number). A larger seq means a corrupt record. */
export const MAX_SEQ = 1_000_000_000;

/** A malformed field throws `corrupt_record` with the names of key and field. */
export class RecordFields {
  readonly key: string;
  readonly #values: ReadonlyMap<string, string>;

  constructor(key: string, values: ReadonlyMap<string, string>) {
    this.key = key;
    this.#values = values;
  }

  /** Reads a list of alternating names and values, as HGETALL returns them inside Lua. */
  static ofList(key: string, flat: unknown): RecordFields {
    if (!Array.isArray(flat)) throw corruptRecord(key, '', 'the key must be a hash');
    return new RecordFields(key, new Map(pairsOf(flat.map(String))));
  }

  static async read(redis: Redis, key: string): Promise<RecordFields> {
    return new RecordFields(key, new Map(Object.entries(await callStore(() => redis.hgetall(key)))));
  }

  static async pick(redis: Redis, key: string, names: readonly string[]): Promise<RecordFields> {
    return RecordFields.ofValues(key, names, await callStore(() => redis.hmget(key, ...names)));
  }

  static ofValues(key: string, names: readonly string[], values: readonly unknown[]): RecordFields {
    return new RecordFields(
      key,
      new Map(names.flatMap((name, at) => (typeof values[at] === 'string' ? [[name, values[at]]] : []))),
    );
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  has(field: string): boolean {
    return this.#values.has(field);
  }

  text(field: string): string | undefined {
    return this.#values.get(field);
  }

  needText(field: string): string {
    return this.text(field) ?? this.refuse(field, 'the field is missing');
  }

  id(field: string): string | undefined {
    const text = this.text(field);
    return text === undefined || idSchema.safeParse(text).success
      ? text
      : this.refuse(field, 'the value must be an id');
  }

  needId(field: string): string {
    return this.id(field) ?? this.refuse(field, 'the field is missing');
  }

  withPrefix(prefix: string): [string, string][] {
    const found: [string, string][] = [];
    for (const [name, value] of this.#values)
      if (name.startsWith(prefix)) found.push([name.slice(prefix.length), value]);
    return found;
  }

  oneOf<Value extends string>(field: string, values: readonly Value[]): Value {
    return this.check(field, this.text(field), values);
  }

  check<Value extends string>(field: string, text: string | undefined, values: readonly Value[]): Value {
    return (
      values.find((value) => value === text) ?? this.refuse(field, `the value must be one of ${values.join(', ')}`)
    );
  }

  /** Whole number from 0 to 2^53 − 1. Undefined if the field is missing. */
  count(field: string): number | undefined {
    const text = this.text(field);
    return text === undefined ? undefined : this.toCount(field, text);
  }

  needCount(field: string): number {
    return this.count(field) ?? this.refuse(field, 'the field is missing');
  }

  /** List of integers separated by spaces. Empty if the field is missing. */
  counts(field: string): number[] {
    const texts = this.text(field)?.split(' ') ?? [];
    return texts.filter((text) => text !== '').map((text) => this.toCount(field, text));
  }

  toCount(field: string, text = ''): number {
    const count = Number(text);
    if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(count))
      this.refuse(field, 'the value must consist of integers');
    return count;
  }

  toSeq(field: string, text: string | undefined, head = MAX_SEQ): number {
    const seq = this.toCount(field, text);
    if (seq < 1 || seq > head) this.refuse(field, `the value must be a message number from 1 to ${head}`);
    return seq;
  }

  toNumber(field: string, text: string): number {
    const number = Number(text);
    if (!/^\d+(\.\d+)?(e-?\d+)?$/.test(text) || !(number <= Number.MAX_SAFE_INTEGER))
      this.refuse(field, 'the value must be a number');
    return number;
  }

  json<Value>(field: string, schema: z.ZodType<Value>, bounds = STORED_JSON_BOUNDS): Value {
    return readRecordJson({ key: this.key, field }, this.needText(field), schema, bounds);
  }

  refuse(field: string, why: string): never {
    throw corruptRecord(this.key, field, why);
  }
}

export interface Place {
  readonly key: string;
  readonly field: string;
}

/** @throws corrupt_record if the text is not JSON or does not match the schema */
export function readRecordJson<Value>(
  place: Place,
  text: string,
  schema: z.ZodType<Value>,
  bounds = STORED_JSON_BOUNDS,
): Value {
  const read = schema.safeParse(parseRecordJson(place, text, bounds));
  if (!read.success) throw corruptRecord(place.key, place.field, 'the JSON does not match the schema of this record');
  return read.data;
}

/** @throws corrupt_record if the text is not JSON, or exceeds a bound */
export function parseRecordJson({ key, field }: Place, text: string, bounds = STORED_JSON_BOUNDS): unknown {
  const refusal = refuseJsonText(text, bounds);
  if (refusal !== undefined) throw corruptRecord(key, field, `the JSON ${REFUSED[refusal.code]}`);
  try {
    return JSON.parse(text);
  } catch {
    // The cause is left out, because the parser's own error would quote user content.
    throw corruptRecord(key, field, 'the value is not valid JSON');
  }
}

const REFUSED = {
  invalid_input: 'is nested too deeply',
  message_too_large: 'has too many values',
} as const;
