/** An error as a log line, an event or a stored failure may carry it. */
export interface ThrownFacts {
  readonly name: string;
  readonly message: string;
  /** of an error that has one as text */
  readonly code?: string | undefined;
}

const NAME_CHARACTERS = 100;
/** Enough for a provider's own explanation; a message of megabytes would fill logs, spans and Redis. */
const MESSAGE_CHARACTERS = 2_000;

/**
 * Describes any thrown value. Never throws itself: getters that throw, proxies, symbols and objects without a prototype are
 * values that code of users may throw.
 * @param maxCharacters of the message
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

/** The property, or undefined where reading it throws. */
export function readSafely(value: unknown, key: PropertyKey): unknown {
  if (!isObject(value)) return undefined;
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined;
  }
}

/** `instanceof Error` that a proxy cannot make throw. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** The start of a text, marked where the rest is missing. */
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
