import { TurnfoldError } from './errors.ts';
import { isMapping } from './parse.ts';

/**
 * What a caller gives to one turn beside its input: a JSON object. Tools and the function that writes the system prompt get a
 * copy. No model sees it, and nobody logs it. It is erased when the turn settles.
 */
export type TurnContext = Readonly<Record<string, unknown>>;

/** As JSON. A context holds ids and settings. Large data belongs to a store of the caller, by its id. */
export const MAX_CONTEXT_BYTES = 16_384;
const MAX_CONTEXT_DEPTH = 32;

/**
 * A context as JSON with sorted keys, so that two equal contexts have one hash.
 * @throws invalid_input, message_too_large, with the field
 */
export function writeContext(context: unknown, field = 'context'): string {
  if (!isMapping(context)) throw refuse('invalid_input', `${field}: expected a JSON object`, field);
  const json = stringify(context, field);
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_CONTEXT_BYTES) {
    throw refuse('message_too_large', `${field}: ${bytes} bytes as JSON, at most ${MAX_CONTEXT_BYTES}`, field);
  }
  return JSON.stringify(sortKeys(JSON.parse(json), field, 0));
}

/** @param json as `writeContext` wrote it; absent: the caller gave none */
export function readContext(json: string | undefined): TurnContext {
  return json === undefined ? {} : (JSON.parse(json) as TurnContext);
}

/** A cycle, a BigInt, a getter that throws or endless depth. */
function stringify(context: Record<string, unknown>, field: string): string {
  try {
    return JSON.stringify(context);
  } catch {
    throw refuse('invalid_input', `${field}: cannot be written as JSON`, field);
  }
}

function sortKeys(value: unknown, field: string, depth: number): unknown {
  if (depth > MAX_CONTEXT_DEPTH) {
    throw refuse('invalid_input', `${field}: nested deeper than ${MAX_CONTEXT_DEPTH} levels`, field);
  }
  if (Array.isArray(value)) return value.map((item) => sortKeys(item, field, depth + 1));
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item, field, depth + 1)]));
}

function refuse(code: 'invalid_input' | 'message_too_large', message: string, field: string): TurnfoldError {
  return new TurnfoldError(code, message, { field });
}
