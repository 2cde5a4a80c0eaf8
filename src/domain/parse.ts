import type { z } from 'zod';
import { type ErrorCode, TurnfoldError } from './errors.ts';

/**
 * Parses at a border: what does not fit becomes a coded error that names the field.
 * @param at path of the value in the caller's input, put before the field's own path
 */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown, at = '', code: ErrorCode = 'invalid_input'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = joinPath(at, issue === undefined ? [] : pathOf(issue));
  throw new TurnfoldError(code, `${field === '' ? 'input' : field}: ${issue?.message ?? 'invalid'}`, { field });
}

/** An unknown key is an issue of the object that holds it; the caller looks for the key. */
function pathOf(issue: z.core.$ZodIssue): readonly PropertyKey[] {
  const [unknownKey] = issue.code === 'unrecognized_keys' ? issue.keys : [];
  return unknownKey === undefined ? issue.path : [...issue.path, unknownKey];
}

function joinPath(at: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (joined, key) =>
      typeof key === 'number' ? `${joined}[${key}]` : joined === '' ? String(key) : `${joined}.${String(key)}`,
    at,
  );
}
