/** An error in the form of a log line, an event or a stored failure. */
export interface ThrownFacts {
  readonly name: string;
  readonly message: string;
  /** Error code, if the error has one as text. */
  readonly code?: string | undefined;
}

const NAME_CHARACTERS = 100;
/** Enough for a provider's explanation. A message of megabytes would fill logs, spans and Redis. */
const MESSAGE_CHARACTERS = 2_000;

/**
 * Describes any thrown value. Never throws: user code may throw getters that throw, proxies, symbols and objects
 * without a prototype.
 * @param maxCharacters limit of the message
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

/** Reads a property. Returns undefined if the reading throws. */
export function readSafely(value: unknown, key: PropertyKey): unknown {
  if (!isObject(value)) return undefined;
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined;
  }
}

/** `instanceof Error`, which a proxy could make throw. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** Returns the start of a text, with a mark if the rest is missing. */
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
 * Marks a class of errors by a brand, because `instanceof` fails across two copies of this package. A worker's command
 * and the agents that it imports may each load a copy. A name alone could belong to an unrelated error.
 * @param brand result of `Symbol.for`, which all copies share
 */
export function brandErrors(type: { readonly prototype: Error }, brand: symbol): void {
  // Set on the prototype, so that the brand does not appear in printed or compared errors.
  Object.defineProperty(type.prototype, brand, { value: true });
}

/** Reads the brand. Never throws, not even on a proxy. */
export function hasBrand(error: unknown, brand: symbol): boolean {
  return readSafely(error, brand) === true;
}
