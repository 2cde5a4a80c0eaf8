export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list's members; what is no object among them reads as an empty one, so that indexes stay the client's. */
export function readObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map((member: unknown) => (isObject(member) ? member : {})) : [];
}

export function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Every string in it, keys aside. */
export function* readStrings(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const member of value) yield* readStrings(member);
  else if (isObject(value)) yield* readStrings(Object.values(value));
}

/** Undefined where the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Four bytes are a token: near enough to refuse what is far too long, and the same on every machine. */
export function estimateTokens(value: unknown): number {
  let bytes = 0;
  for (const text of readStrings(value)) bytes += Buffer.byteLength(text);
  return Math.ceil(bytes / 4);
}
