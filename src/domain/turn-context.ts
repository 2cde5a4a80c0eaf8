import { copyBoundedJson } from './bounded-json.ts';
import { TurnfoldError } from './errors.ts';
import { isMapping } from './parse.ts';

/**
 * Data of a caller for one turn, besides its input: a JSON object. Tools and the system prompt function receive a copy.
 * Models never see it, logs never contain it, and settling the turn erases it.
 */
export type TurnContext = Readonly<Record<string, unknown>>;

/** Limit of a context as JSON. A context holds ids and settings. Large data belongs into the caller's own store. */
export const MAX_CONTEXT_BYTES = 16_384;
const CONTEXT_BOUNDS = { maxCharacters: MAX_CONTEXT_BYTES, maxDepth: 32 };

/**
 * Writes a context as JSON with sorted keys, so that equal contexts have equal hashes.
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

/** @param json text by `writeContext`. Absent if the caller gave no context */
export function readContext(json: string | undefined): TurnContext {
  return json === undefined ? {} : (JSON.parse(json) as TurnContext);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
