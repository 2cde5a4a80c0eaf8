import { type ErrorCode, TurnfoldError } from './errors.ts';
import { joinPath } from './parse.ts';
import { describeThrown } from './thrown.ts';

/** Deeper JSON overflows the stack of the recursive code that renders, counts and stores it. */
const MAX_JSON_DEPTH = 200;

/** In values: more would hold the event loop for over 50 ms. A megabyte may hold 350,000 of them. */
const MAX_WORK = 250_000;
/** A key or a list that is not empty takes as long as four values more. */
const MEMBERS_WORK = 4;

export interface JsonBounds {
  /** UTF-16 units of the text: never more than its bytes in UTF-8 */
  readonly maxCharacters: number;
  readonly maxDepth?: number;
  /** in values, as `MAX_WORK` */
  readonly maxWork?: number;
}

export type BoundedJson =
  | { readonly status: 'written'; readonly json: string }
  | {
      readonly status: 'refused';
      readonly code: Extract<ErrorCode, 'invalid_input' | 'message_too_large'>;
      /** where the fault is, from the value on */
      readonly path: readonly PropertyKey[];
      readonly why: string;
    };

/**
 * Writes any value as JSON text, as `JSON.stringify` does, within bounds. The work is bounded as well: it stops at the first
 * fault, and neither cycles, depth nor getters can overflow the stack or throw. A value that JSON would drop or change
 * without a word (a function in a list, a symbol, NaN, a BigInt) is refused.
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
 * A plain copy of any value: without getters, cycles or `toJSON`, so that nothing behind the border can fail on it.
 * @param at what the caller calls the value
 * @throws invalid_input, message_too_large, with the field
 */
export function copyBoundedJson(value: unknown, at: string, bounds: JsonBounds): unknown {
  const written = writeBoundedJson(value, bounds);
  if (written.status === 'written') return JSON.parse(written.json);
  const field = joinPath(at, written.path);
  throw new TurnfoldError(written.code, `${field}: ${written.why}`, { field });
}

/** What `JSON.stringify` writes as the value inside. Listed as keys, a boxed text of 5 MB held the event loop for 8 s. */
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

/** A list or an object that is being written. */
interface Frame {
  readonly source: object;
  /** of an object; undefined: a list */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
  /** whether a member was written, so that the next one needs a comma */
  hasMember: boolean;
}

class JsonWriter {
  readonly #bounds: JsonBounds;
  readonly #frames: Frame[] = [];
  /** lists and objects that are being written: one that holds itself has no JSON */
  readonly #open = new Set<object>();
  #json = '';
  #work = 0;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  write(value: unknown): string {
    try {
      const root = this.#resolve(value, '');
      if (root === undefined) this.#refuse('expected JSON; got undefined');
      this.#begin(root);
      for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) this.#step(frame);
      return this.#json;
    } catch (error) {
      // Everything else is thrown by code of whoever made the value: a getter, a proxy, `toJSON`.
      if (error instanceof JsonRefusal) throw error;
      return this.#refuse(`cannot be read: ${describeThrown(error).name}`);
    }
  }

  /** Writes the next member of a list or an object, or its end. */
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
    this.#spend(1);
    switch (typeof value) {
      case 'string':
        return this.#put(this.#quote(value));
      case 'boolean':
        return this.#put(String(value));
      case 'number':
        if (!Number.isFinite(value)) this.#refuse(`expected JSON; got ${value}`);
        return this.#put(String(value));
      case 'object':
        return value === null ? this.#put('null') : this.#enter(value);
      default:
        return this.#refuse(`expected JSON; got a ${typeof value}`);
    }
  }

  #enter(source: object): void {
    const { maxDepth = MAX_JSON_DEPTH } = this.#bounds;
    if (this.#open.has(source)) this.#refuse('refers to itself; expected JSON');
    if (this.#frames.length >= maxDepth) this.#refuse(`nested deeper than ${maxDepth} levels`);
    const isList = Array.isArray(source);
    const keys = isList ? undefined : Object.keys(source);
    const length = isList ? source.length : (keys as string[]).length;
    if (length === 0) return this.#put(isList ? '[]' : '{}');
    // Each member is at least one character: a list that announces a billion is refused before it is walked.
    this.#reserve(length);
    this.#spend(isList ? MEMBERS_WORK : MEMBERS_WORK * length);
    this.#open.add(source);
    this.#frames.push({ source, keys, length, next: 0, hasMember: false });
    this.#put(isList ? '[' : '{');
  }

  get #maxWork(): number {
    return this.#bounds.maxWork ?? MAX_WORK;
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work > this.#maxWork) this.#tooLarge('more values than a message may have');
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
    if (this.#json.length + characters > maxCharacters) this.#tooLarge(`more than ${maxCharacters} bytes of JSON`);
  }

  #tooLarge(why: string): never {
    throw new JsonRefusal([], why, 'message_too_large');
  }

  #refuse(why: string): never {
    const path = this.#frames.map(({ keys, next }): PropertyKey => keys?.[next - 1] ?? next - 1);
    throw new JsonRefusal(path, why);
  }

  /** What JSON writes for a value: the answer of its `toJSON`, what it boxes, or the value itself; undefined is left out. */
  #resolve(value: unknown, key: PropertyKey): unknown {
    if (typeof value !== 'object' || value === null) return value;
    // A member for each element. Merely to list those of 5 MB held the event loop for a second.
    if (ArrayBuffer.isView(value) && MEMBERS_WORK * value.byteLength > this.#maxWork) {
      this.#tooLarge('more values than a message may have');
    }
    const toJson: unknown = Reflect.get(value, 'toJSON');
    const resolved: unknown = typeof toJson === 'function' ? Reflect.apply(toJson, value, [String(key)]) : value;
    return BOXES.some((box) => resolved instanceof box) ? (resolved as object).valueOf() : resolved;
  }
}
