/** Name, message and code of a thrown value, for log lines, events and stored failures. */
export interface ThrownFacts {
  readonly name: string;
  readonly message: string;
  /** Error code, if the thrown value has a string as `code`. */
  readonly code?: string | undefined;
}

const NAME_CHARACTERS = 100;
/**
 * Maximum characters of an error message. This length is enough for a provider's explanation, while megabytes would
 * fill logs, traces and Redis.
 */
const MESSAGE_CHARACTERS = 2_000;

/**
 * Describes any thrown value. Never throws itself: user code may throw proxies, symbols, objects without a prototype,
 * or values with throwing getters.
 * @param maxCharacters maximum characters of the message
 */
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

/** Reads a property. Returns undefined if reading it throws. */
export function readSafely(value: unknown, key: PropertyKey): unknown {
  if (!isObject(value)) return undefined;
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined;
  }
}

/** Like `instanceof Error`, but never throws, even on a proxy. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** Returns the start of a text, with a note at its end if text was cut off. */
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
 * Marks an error class, so that its errors can be recognized across two copies of this package, where `instanceof`
 * fails. The worker command and the agents that it imports may each load a copy. The class name alone could belong to
 * an unrelated error.
 * @param brand result of `Symbol.for`, which all copies share
 */
export function brandErrors(type: { readonly prototype: Error }, brand: symbol): void {
  // Defined on the prototype, so that the mark does not appear when errors are printed or compared.
  Object.defineProperty(type.prototype, brand, { value: true });
}

/** Checks whether a value is an error of a class that has this mark. Never throws, not even on a proxy. */
export function hasBrand(error: unknown, brand: symbol): boolean {
  return readSafely(error, brand) === true;
}
