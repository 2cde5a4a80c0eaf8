import { copyBoundedJson } from './bounded-json.ts';
import { fieldError } from './errors.ts';
import { parseJsonText } from './json-text.ts';
import { isMapping } from './parse.ts';

/** Data that a caller attaches to a turn. Never sent to a model, never logged, and erased when the turn settles. */
export type TurnContext = Readonly<Record<string, unknown>>;

/** Maximum bytes of the data, enough for ids and settings. Keep large data in your own store. */
export const MAX_CONTEXT_BYTES = 16_384;
const CONTEXT_BOUNDS = { maxCharacters: MAX_CONTEXT_BYTES, maxDepth: 32 };

/** JSON with sorted keys, so that equal data has equal hashes. @throws invalid_input, message_too_large */
export function writeTurnContext(context: unknown, field = 'context'): string {
  const copy = copyBoundedJson(context, field, CONTEXT_BOUNDS);
  if (!isMapping(copy)) throw fieldError('invalid_input', field, 'expected a JSON object');
  const json = JSON.stringify(sortKeys(copy));
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_CONTEXT_BYTES) return json;
  throw fieldError('message_too_large', field, `${bytes} bytes as JSON exceed the limit of ${MAX_CONTEXT_BYTES} bytes`);
}

export function readTurnContext(json: string | undefined): TurnContext {
  return json === undefined ? {} : (parseJsonText(json, 'context') as TurnContext);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
