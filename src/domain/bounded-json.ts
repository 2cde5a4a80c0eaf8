import { type ErrorCode, fieldError } from './errors.ts';
import { JSON_TEXT_BOUNDS, tooManyValues } from './json-text.ts';
import { joinPath } from './parse.ts';
import { describeThrown } from './thrown.ts';

interface JsonBounds {
  /** Maximum length in UTF-16 units. The UTF-8 form has at least as many bytes. */
  readonly maxCharacters: number;
  readonly maxDepth?: number;
  /** Maximum number of values. A list or an object counts twice. */
  readonly maxValues?: number;
}

type BoundedJson =
  | { readonly status: 'written'; readonly json: string }
  | {
      readonly status: 'refused';
      readonly code: Extract<ErrorCode, 'invalid_input' | 'message_too_large'>;
      readonly path: readonly PropertyKey[];
      readonly why: string;
    };

/**
 * Like `JSON.stringify`, with limits within which `readJsonText` reads the text again. Reports cycles and throwing
 * getters, and refuses values that JSON would drop or change: functions in lists, symbols, NaN, BigInt.
 */
export function writeBoundedJson(value: unknown, bounds: JsonBounds): BoundedJson {
  try {
    return { status: 'written', json: new JsonWriter(bounds).write(value) };
  } catch (error) {
    if (error instanceof JsonRefusal) return { status: 'refused', code: error.code, path: error.path, why: error.why };
    throw error;
  }
}

/**
 * Copies a value, so that reading it never throws: the copy has no getters, cycles or `toJSON`.
 * @throws invalid_input for a value that JSON cannot represent, message_too_large above a limit
 */
export function copyBoundedJson(value: unknown, at: string, bounds: JsonBounds): unknown {
  const written = writeBoundedJson(value, bounds);
  if (written.status === 'written') return JSON.parse(written.json);
  const field = joinPath(at, written.path);
  throw fieldError(written.code, field, written.why);
}

/** Boxed values are unwrapped: writing a boxed string of 5 MB key by key would block the event loop for 8 s. */
const BOXES = [String, Number, Boolean];

class JsonRefusal extends Error {
  readonly code: Extract<BoundedJson, { status: 'refused' }>['code'];
  readonly path: readonly PropertyKey[];
  readonly why: string;

  constructor(path: readonly PropertyKey[], why: string, code: JsonRefusal['code'] = 'invalid_input') {
    super(why);
    this.path = path;
    this.why = why;
    this.code = code;
  }
}

interface Frame {
  readonly source: object;
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
  hasMember: boolean;
}

class JsonWriter {
  readonly #bounds: JsonBounds;
  readonly #frames: Frame[] = [];
  /** Lists and objects around the value being written. A value that is one of these contains itself. */
  readonly #open = new Set<object>();
  #json = '';
  #values = 0;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  write(value: unknown): string {
    try {
      const root = this.#resolve(value, '');
      if (root === undefined) this.#refuse('expected JSON, got undefined');
      this.#begin(root);
      for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) this.#step(frame);
      return this.#json;
    } catch (error) {
      if (error instanceof JsonRefusal) throw error;
      return this.#refuse(`cannot be read: reading it threw ${describeThrown(error).name}`);
    }
  }

  #step(frame: Frame): void {
    const { source, keys } = frame;
    if (frame.next === frame.length) {
      this.#put(keys === undefined ? ']' : '}');
      this.#open.delete(source);
      this.#frames.pop();
      return;
    }
    const key = keys === undefined ? frame.next : (keys[frame.next] as string);
    frame.next += 1;
    const value = this.#resolve(Reflect.get(source, key), key);
    if (value === undefined && keys !== undefined) return;
    if (frame.hasMember) this.#put(',');
    frame.hasMember = true;
    if (typeof key === 'string') this.#put(`${this.#quote(key)}:`);
    this.#begin(value ?? null);
  }

  #begin(value: unknown): void {
    this.#count(1);
    switch (typeof value) {
      case 'string':
        return this.#put(this.#quote(value));
      case 'boolean':
        return this.#put(String(value));
      case 'number':
        if (!Number.isFinite(value)) this.#refuse(`expected JSON, got ${value}`);
        return this.#put(String(value));
      case 'object':
        return value === null ? this.#put('null') : this.#enter(value);
      default:
        return this.#refuse(`expected JSON, got a ${typeof value}`);
    }
  }

  #enter(source: object): void {
    const { maxDepth = JSON_TEXT_BOUNDS.maxDepth } = this.#bounds;
    if (this.#open.has(source)) this.#refuse('contains itself, which JSON cannot express');
    if (this.#frames.length >= maxDepth) this.#refuse(`is nested more than ${maxDepth} levels deep`);
    const isList = Array.isArray(source);
    const keys = isList ? undefined : Object.keys(source);
    const length = isList ? source.length : (keys as string[]).length;
    this.#count(isList ? 1 : 1 + length);
    if (length === 0) return this.#put(isList ? '[]' : '{}');
    // Each member takes a character, so a list of length 1,000,000,000 is refused before the loop over its members.
    this.#reserve(length);
    this.#open.add(source);
    this.#frames.push({ source, keys, length, next: 0, hasMember: false });
    this.#put(isList ? '[' : '{');
  }

  #count(values: number, more = 0): void {
    const { maxValues = JSON_TEXT_BOUNDS.maxValues } = this.#bounds;
    this.#values += values;
    if (this.#values + more > maxValues) this.#tooLarge(tooManyValues(maxValues));
  }

  #quote(text: string): string {
    this.#reserve(text.length);
    return JSON.stringify(text);
  }

  #put(piece: string): void {
    this.#reserve(piece.length);
    this.#json += piece;
  }

  #reserve(characters: number): void {
    const { maxCharacters } = this.#bounds;
    if (this.#json.length + characters > maxCharacters) this.#tooLarge(`exceeds ${maxCharacters} bytes as JSON`);
  }

  #tooLarge(why: string): never {
    throw new JsonRefusal([], why, 'message_too_large');
  }

  #refuse(why: string): never {
    const path = this.#frames.map(({ keys, next }): PropertyKey => keys?.[next - 1] ?? next - 1);
    throw new JsonRefusal(path, why);
  }

  /** Unwraps a value as `JSON.stringify` does. */
  #resolve(value: unknown, key: PropertyKey): unknown {
    if (typeof value !== 'object' || value === null) return value;
    // Bytes are counted first: listing the keys of a typed array of 5 MB would block the event loop for a second.
    if (ArrayBuffer.isView(value)) this.#count(0, value.byteLength);
    const toJson: unknown = Reflect.get(value, 'toJSON');
    const resolved: unknown = typeof toJson === 'function' ? Reflect.apply(toJson, value, [String(key)]) : value;
    return BOXES.some((box) => resolved instanceof box) ? (resolved as object).valueOf() : resolved;
  }
}
