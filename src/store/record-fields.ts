import type { z } from 'zod';
import { corruptRecord } from './corrupt-record.ts';

/** No log is longer, so that a number which is no seq is seen as such. */
export const MAX_SEQ = 1_000_000_000;

/** Fields of one record in Redis. A field that is there and cannot be read throws `corrupt_record`, with key and field. */
export class RecordFields {
  readonly key: string;
  readonly #values: ReadonlyMap<string, string>;

  constructor(key: string, values: ReadonlyMap<string, string>) {
    this.key = key;
    this.#values = values;
  }

  /** A list of names and values in turn, as HGETALL gives it inside Lua. */
  static ofList(key: string, flat: unknown): RecordFields {
    if (!Array.isArray(flat)) throw corruptRecord(key, '', 'it is not a hash');
    const values = new Map<string, string>();
    for (let at = 0; at + 1 < flat.length; at += 2) values.set(String(flat[at]), String(flat[at + 1]));
    return new RecordFields(key, values);
  }

  /** The answer to HMGET. */
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
    return this.text(field) ?? this.refuse(field, 'it is missing');
  }

  /** Names without the prefix, and values. */
  withPrefix(prefix: string): [string, string][] {
    return [...this.#values]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]);
  }

  oneOf<Value extends string>(field: string, values: readonly Value[]): Value {
    return this.check(field, this.text(field), values);
  }

  check<Value extends string>(field: string, text: string | undefined, values: readonly Value[]): Value {
    return values.find((value) => value === text) ?? this.refuse(field, `it must be one of ${values.join(', ')}`);
  }

  /** An integer from 0 to 2^53 − 1; undefined where there is none. */
  count(field: string): number | undefined {
    const text = this.text(field);
    return text === undefined ? undefined : this.toCount(field, text);
  }

  needCount(field: string): number {
    return this.count(field) ?? this.refuse(field, 'it is missing');
  }

  /** Counts with blanks between; none where the field is missing. */
  counts(field: string): number[] {
    return (this.text(field) ?? '')
      .split(' ')
      .filter((text) => text !== '')
      .map((text) => this.toCount(field, text));
  }

  toCount(field: string, text = ''): number {
    const count = Number(text);
    if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(count)) this.refuse(field, 'it must hold integers');
    return count;
  }

  /** A seq that a log can have. */
  toSeq(field: string, text: string | undefined, head = MAX_SEQ): number {
    const seq = this.toCount(field, text);
    if (seq < 1 || seq > head) this.refuse(field, `it must name messages from 1 to ${head}`);
    return seq;
  }

  /** A number of at least 0. */
  toNumber(field: string, text: string): number {
    const number = Number(text);
    if (!/^\d+(\.\d+)?(e-?\d+)?$/.test(text) || !(number <= Number.MAX_SAFE_INTEGER))
      this.refuse(field, 'it must hold a number');
    return number;
  }

  json<Value>(field: string, schema: z.ZodType<Value>): Value {
    return readJson({ key: this.key, field }, this.needText(field), schema);
  }

  refuse(field: string, why: string): never {
    throw corruptRecord(this.key, field, why);
  }
}

/** Where a value lies. */
export interface Place {
  readonly key: string;
  /** '' where it is the whole key */
  readonly field: string;
}

/** @throws corrupt_record */
export function readJson<Value>(place: Place, text: string, schema: z.ZodType<Value>): Value {
  const read = schema.safeParse(parseRecordJson(place, text));
  if (!read.success) throw corruptRecord(place.key, place.field, 'its JSON has another form');
  return read.data;
}

/** @throws corrupt_record */
export function parseRecordJson({ key, field }: Place, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error of the parser quotes what it could not read.
    throw corruptRecord(key, field, 'it is not JSON');
  }
}
