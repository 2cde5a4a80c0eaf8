import { isMapping } from '../../domain/parse.ts';

/** A JSON object of another program. */
export type Block = Readonly<Record<string, unknown>>;

/** Returns an empty text for a missing value, and JSON for other values that are no text. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Reads an id as text. Some programs number their calls, and an empty id is no id. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns an object as it is, and an empty object for other values. */
export function blockOf(value: unknown): Block {
  return isMapping(value) ? value : {};
}

export function blocksIn(value: unknown): readonly Block[] {
  return listOf(value).filter(isMapping);
}

export function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}

/** Returns the first of these fields that is neither null nor absent. */
export function firstOf(block: Block, ...fields: readonly string[]): unknown {
  return fields.map((field) => block[field]).find((value) => value !== undefined && value !== null);
}

export function withoutFields(block: Block, fields: ReadonlySet<string>): Block {
  return Object.fromEntries(Object.entries(block).filter(([key]) => !fields.has(key)));
}
