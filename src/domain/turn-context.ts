import { copyBoundedJson } from './bounded-json.ts';
import { TurnfoldError } from './errors.ts';
import { isMapping } from './parse.ts';

/**
 * What a caller gives to one turn beside its input: a JSON object. Tools and the function that writes the system prompt get a
 * copy. No model sees it, and nobody logs it. It is erased when the turn settles.
 */
export type TurnContext = Readonly<Record<string, unknown>>;

/** As JSON. A context holds ids and settings. Large data belongs to a store of the caller, by its id. */
export const MAX_CONTEXT_BYTES = 16_384;
const CONTEXT_BOUNDS = { maxCharacters: MAX_CONTEXT_BYTES, maxDepth: 32 };

/**
 * A context as JSON with sorted keys, so that two equal contexts have one hash.
 * @throws invalid_input, message_too_large, with the field
 */
export function writeContext(context: unknown, field = 'context'): string {
  const copy = copyBoundedJson(context, field, CONTEXT_BOUNDS);
  if (!isMapping(copy)) throw new TurnfoldError('invalid_input', `${field}: expected a JSON object`, { field });
  const json = JSON.stringify(sortKeys(copy));
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_CONTEXT_BYTES) return json;
  const message = `${field}: ${bytes} bytes as JSON, at most ${MAX_CONTEXT_BYTES}`;
  throw new TurnfoldError('message_too_large', message, { field });
}

/** @param json as `writeContext` wrote it; absent: the caller gave none */
export function readContext(json: string | undefined): TurnContext {
  return json === undefined ? {} : (JSON.parse(json) as TurnContext);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
