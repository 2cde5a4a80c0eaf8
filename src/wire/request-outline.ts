import { isMapping } from '../domain/parse.ts';

/** Fields whose values are shown. Other values may be contents of the conversation. */
const FORM_KEYS: ReadonlySet<string> = new Set([
  'type',
  'role',
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'name',
  'model',
  'status',
  'media_type',
]);
const LISTS = ['messages', 'input'] as const;
const NEIGHBOURS = 2;
const SHOWN_WITHOUT_PLACE = 6;
const MAX_CHARS = 8_000;

/**
 * Describes a refused request as JSON without contents: roles, types, ids and sizes.
 * @param refusal the provider's message or the path of a rule violation. The messages near the named one are shown
 */
export function outlineRequest(body: unknown, refusal: string): string {
  if (!isMapping(body)) return JSON.stringify(sizeOf(body));
  const form = Object.entries(body).map(([key, value]): [string, unknown] => {
    const isList = LISTS.some((list) => list === key);
    return isList && Array.isArray(value) ? [key, cutList(value, refusal)] : [key, formOf(value, key)];
  });
  return JSON.stringify(Object.fromEntries(form)).slice(0, MAX_CHARS);
}

function cutList(list: readonly unknown[], refusal: string): { of: number; from: number; items: unknown[] } {
  const named = /(?:messages|input)[.[](\d+)/.exec(refusal)?.[1];
  const place = named === undefined ? undefined : Number(named);
  const from = Math.max(0, place === undefined ? list.length - SHOWN_WITHOUT_PLACE : place - NEIGHBOURS);
  const to = place === undefined ? list.length : place + NEIGHBOURS + 1;
  return { of: list.length, from, items: list.slice(from, to).map((item) => formOf(item, '')) };
}

function formOf(value: unknown, key: string): unknown {
  if (typeof value === 'string') return FORM_KEYS.has(key) ? value : sizeOf(value);
  if (Array.isArray(value)) return value.map((item) => formOf(item, ''));
  if (!isMapping(value)) return value;
  // Keys of arguments and schemas are contents of the conversation, like their values.
  if (key === 'input' || key === 'parameters' || key === 'input_schema') return sizeOf(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, formOf(inner, name)]));
}

function sizeOf(value: unknown): string {
  if (typeof value === 'string') return value.trim() === '' ? `blank, ${value.length}` : `text, ${value.length}`;
  return Array.isArray(value) ? `list, ${value.length}` : `${typeof value}, ${JSON.stringify(value)?.length ?? 0}`;
}
