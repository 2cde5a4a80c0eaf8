import { type Reply, ReplyError } from './reply.ts';
import { SortedSet } from './sorted-set.ts';
import { Stream } from './stream.ts';

interface Values {
  string: string;
  hash: Map<string, string>;
  list: string[];
  set: Set<string>;
  zset: SortedSet;
  stream: Stream;
}

type Type = keyof Values;
type Value = { readonly [T in Type]: { readonly type: T; value: Values[T] } }[Type];
type Collection = 'hash' | 'list' | 'set' | 'zset';

/** A command of Redis. Arguments are texts of bytes. A missing argument is found before the call. */
export type Command = (database: Database, ...args: string[]) => Reply;
export type Commands = Readonly<Record<string, Command>>;

const EMPTY: { readonly [T in Type]: () => Values[T] } = {
  string: () => '',
  hash: () => new Map(),
  list: () => [],
  set: () => new Set(),
  zset: () => new SortedSet(),
  stream: () => new Stream(),
};

/** Number of reads after which all expired keys are removed. Other reads remove only their own key, once expired. */
const SEARCH_EVERY = 4_096;

export class Database {
  readonly #values = new Map<string, Value>();
  readonly #ends = new Map<string, number>();
  #reads = 0;
  #scriptAt: number | undefined;
  clock: () => number = Date.now;

  copy(clock = this.clock): Database {
    const copy = new Database();
    copy.clock = clock;
    for (const [key, value] of this.#values) copy.#values.set(key, copyOf(value));
    for (const [key, end] of this.#ends) copy.#ends.set(key, end);
    return copy;
  }

  now(): number {
    return this.#scriptAt ?? this.clock();
  }

  /** As in Redis, no time passes during a script. */
  runScript<Result>(run: () => Result): Result {
    this.#scriptAt = this.clock();
    try {
      return run();
    } finally {
      this.#scriptAt = undefined;
    }
  }

  get size(): number {
    return this.keys().length;
  }

  keys(): string[] {
    this.#dropExpired();
    return [...this.#values.keys()];
  }

  get<T extends Type>(key: string, type: T): Values[T] | undefined {
    const found = this.#find(key);
    if (found !== undefined && found.type !== type)
      throw new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value');
    return found?.value as Values[T] | undefined;
  }

  make<T extends Type>(key: string, type: T): Values[T] {
    const found = this.get(key, type);
    if (found !== undefined) return found;
    const value = EMPTY[type]();
    this.#values.set(key, { type, value } as Value);
    return value;
  }

  /** Changes a collection. If the collection is empty afterwards, its key does not exist any more. */
  edit<T extends Collection, Result>(key: string, type: T, change: (value: Values[T]) => Result): Result {
    const value = this.make(key, type);
    const result = change(value);
    const size = Array.isArray(value) ? value.length : value.size;
    if (size === 0) this.remove(key);
    return result;
  }

  putString(key: string, value: string): void {
    this.#values.set(key, { type: 'string', value });
  }

  typeOf(key: string): Type | undefined {
    return this.#find(key)?.type;
  }

  remove(key: string): boolean {
    const existed = this.#find(key) !== undefined;
    this.#ends.delete(key);
    this.#values.delete(key);
    return existed;
  }

  /** @returns false if there is no such key */
  transfer(from: string, to: string, { isCopy }: { readonly isCopy: boolean }): boolean {
    const found = this.#find(from);
    if (found === undefined) return false;
    const end = this.#ends.get(from);
    const value = isCopy ? copyOf(found) : found;
    if (!isCopy) this.remove(from);
    this.remove(to);
    this.#values.set(to, value);
    if (end !== undefined) this.#ends.set(to, end);
    return true;
  }

  endOf(key: string): number | undefined {
    return this.#ends.get(key);
  }

  /**
   * @param at ms since epoch. Undefined: the key never expires
   * @returns false if there is no such key
   */
  expire(key: string, at: number | undefined): boolean {
    if (this.#find(key) === undefined) return false;
    if (at === undefined) return this.#ends.delete(key);
    this.#ends.set(key, at);
    return true;
  }

  clear(): void {
    this.#values.clear();
    this.#ends.clear();
  }

  #find(key: string): Value | undefined {
    if ((this.#reads += 1) % SEARCH_EVERY === 0) this.#dropExpired();
    const end = this.#ends.get(key);
    if (end !== undefined && end <= this.now()) {
      this.#ends.delete(key);
      this.#values.delete(key);
    }
    return this.#values.get(key);
  }

  #dropExpired(): void {
    const now = this.now();
    for (const [key, end] of this.#ends) {
      if (end > now) continue;
      this.#ends.delete(key);
      this.#values.delete(key);
    }
  }
}

const COPY: { readonly [T in Type]: (value: Values[T]) => Values[T] } = {
  string: (text) => text,
  hash: (fields) => new Map(fields),
  list: (values) => [...values],
  set: (members) => new Set(members),
  zset: ({ entries }) => {
    const copy = new SortedSet();
    for (const { member, score } of entries) copy.set(member, score);
    return copy;
  },
  stream: (entries) => {
    const copy = new Stream();
    for (const { id, fields } of entries.between('-', '+')) copy.add(id, fields, 0);
    return copy;
  },
};

function copyOf<T extends Type>({ type, value }: { readonly type: T; readonly value: Values[T] }): Value {
  return { type, value: COPY[type](value) } as Value;
}
