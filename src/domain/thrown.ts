export interface ThrownFacts {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
}

const NAME_CHARACTERS = 100;
/** Maximum characters of a message: enough for an explanation. Megabytes would fill logs, traces and Redis. */
const MESSAGE_CHARACTERS = 2_000;

/** Never throws: user code may throw proxies, symbols, objects without a prototype, or values with throwing getters. */
export function describeThrown(thrown: unknown, maxCharacters = MESSAGE_CHARACTERS): ThrownFacts {
  if (!isObject(thrown)) return { name: typeof thrown, message: clipText(String(thrown), maxCharacters) };
  const name = readText(thrown, 'name');
  const message = readText(thrown, 'message');
  const code = readText(thrown, 'code');
  return {
    name: name === undefined || name === '' ? 'object' : clipText(name, NAME_CHARACTERS),
    message: clipText(message ?? 'no message', maxCharacters),
    ...(code !== undefined && code !== '' && { code: clipText(code, NAME_CHARACTERS) }),
  };
}

export function readSafely(value: unknown, key: PropertyKey): unknown {
  if (!isObject(value)) return undefined;
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined;
  }
}

export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

export function clipText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, Math.max(0, maxCharacters - 1)).toWellFormed()}…`;
}

function readText(value: object, key: string): string | undefined {
  const read = readSafely(value, key);
  return typeof read === 'string' ? read : undefined;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * Marks an error class. The worker command and the agents may load two copies of this package, across which
 * `instanceof` fails. A class name could belong to an unrelated error.
 * @param brand result of `Symbol.for`, which the copies share
 */
export function brandErrors(type: { readonly prototype: Error }, brand: symbol): void {
  // On the prototype, so that the mark does not appear when errors are printed or compared.
  Object.defineProperty(type.prototype, brand, { value: true });
}

/** Never throws, not even on a proxy. */
export function hasBrand(error: unknown, brand: symbol): boolean {
  return readSafely(error, brand) === true;
}
