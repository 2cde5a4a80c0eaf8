import { isMapping } from '../../domain/parse.ts';

/** A JSON object of another program. */
export type Block = Readonly<Record<string, unknown>>;

/** Writes a missing value as an empty text, and other values as JSON. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Returns an id as a text, because some programs number their calls. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns an object as it is. Other values have no fields. */
export function blockOf(value: unknown): Block {
  return isMapping(value) ? value : {};
}

export function blocksIn(value: unknown): readonly Block[] {
  return listOf(value).filter(isMapping);
}

export function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}
