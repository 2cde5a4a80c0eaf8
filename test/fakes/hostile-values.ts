/** Values that code of users may throw, return or hand over, each with a name for a test's title. */
export type NamedValue = readonly [name: string, make: () => unknown];

const fail = (): never => {
  throw new Error('a getter that throws');
};

/** The object with a property that throws when it is read. */
export function withGetter(key: string, on: object = {}): object {
  return Object.defineProperty(on, key, { get: fail, enumerable: true });
}

const TRAPS = ['get', 'has', 'getPrototypeOf', 'ownKeys', 'getOwnPropertyDescriptor'] as const;

/** Fails whatever it is asked. */
export function hostileProxy(): object {
  return new Proxy({}, Object.fromEntries(TRAPS.map((trap) => [trap, fail])));
}

/** Objects in each other. */
export function nestDeeply(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { in: value };
  return value;
}

function cyclicObject(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

const LONG = 5 * 1024 * 1024;

/** Values that code may throw. */
export const HOSTILE_THROWN: readonly NamedValue[] = [
  ['an object without a prototype', () => Object.create(null) as object],
  ['undefined', () => undefined],
  ['null', () => null],
  ['a symbol', () => Symbol('odd')],
  ['a BigInt', () => 5n],
  ['a function', () => fail],
  ['a proxy that fails whatever it is asked', hostileProxy],
  ['an error whose message is a symbol', () => Object.assign(new Error('x'), { message: Symbol('odd') })],
  ['an error whose message throws', () => withGetter('message', new Error('x'))],
  ['an error whose name throws', () => withGetter('name', new Error('x'))],
  ['an error whose stack throws', () => withGetter('stack', new Error('x'))],
  ['an error whose cause throws', () => withGetter('cause', new Error('x'))],
  ['an object whose toString throws', () => ({ toString: fail, [Symbol.toPrimitive]: fail })],
  ['an error with a message of 5 MB', () => new Error('x'.repeat(LONG))],
  ['an error that is its own cause', () => selfCaused()],
];

/** Values without JSON, or with too much of it. */
export const HOSTILE_JSON: readonly NamedValue[] = [
  ['a cycle', cyclicObject],
  ['a BigInt', () => ({ big: 5n })],
  ['a function', () => ({ call: fail })],
  ['a symbol', () => ({ odd: Symbol('odd') })],
  ['NaN', () => ({ count: Number.NaN })],
  ['a getter that throws', () => withGetter('field')],
  ['a toJSON that throws', () => ({ toJSON: fail })],
  ['a toJSON getter that throws', () => withGetter('toJSON')],
  ['a proxy that fails whatever it is asked', hostileProxy],
  ['20,000 levels', () => nestDeeply(20_000)],
  ['5 MB', () => ({ text: 'x'.repeat(LONG) })],
  ['a list that announces a billion members', announceBillion],
];

/** Few objects with millions of keys. Tools return such values. Callers have no field for them. */
export const HOSTILE_BYTES: readonly NamedValue[] = [
  ['5 MB of bytes', () => new Uint8Array(LONG)],
  ['5 MB of a Buffer', () => Buffer.alloc(LONG)],
  ['5 MB of a boxed text', () => Object('x'.repeat(LONG)) as unknown],
];

function selfCaused(): Error {
  const error = new Error('x');
  error.cause = error;
  return error;
}

function announceBillion(): unknown[] {
  const list: unknown[] = [];
  list.length = 1_000_000_000;
  return list;
}
