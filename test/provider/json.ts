export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the members of a list. A member that is not an object becomes {}, so that indexes match the client's. */
export function readObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map((member: unknown) => (isObject(member) ? member : {})) : [];
}

export function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Yields all strings in a value, except keys. */
export function* readStrings(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const member of value) yield* readStrings(member);
  else if (isObject(value)) yield* readStrings(Object.values(value));
}

/** @returns undefined if the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Estimates tokens as one for every four bytes. The estimate detects oversized requests and is the same on every
 * machine.
 */
export function estimateTokens(value: unknown): number {
  let bytes = 0;
  for (const text of readStrings(value)) bytes += Buffer.byteLength(text);
  return Math.ceil(bytes / 4);
}
