import type { z } from 'zod';
import { type ErrorCode, TurnfoldError } from './errors.ts';

/**
 * Parses at a border: what does not fit becomes a coded error that names the field.
 * @param at path of the value in the caller's input, put before the field's own path
 */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown, at = '', code: ErrorCode = 'invalid_input'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [first = new TurnfoldError(code, `${at || 'input'}: invalid`, { field: at })] = nameIssues(
    result.error,
    at,
    code,
  );
  throw first;
}

/** All that does not fit, each with its field. */
export function nameIssues(error: z.ZodError, at: string, code: ErrorCode): TurnfoldError[] {
  return error.issues.flatMap((issue) =>
    listPaths(issue).map((path) => {
      const field = joinPath(at, path);
      return new TurnfoldError(code, `${field === '' ? 'input' : field}: ${issue.message}`, { field });
    }),
  );
}

/** An object of JSON that is no list. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Unknown keys are one issue of the object that holds them; the caller looks for each key. */
function listPaths(issue: z.core.$ZodIssue): (readonly PropertyKey[])[] {
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
}

function joinPath(at: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (joined, key) =>
      typeof key === 'number' ? `${joined}[${key}]` : joined === '' ? String(key) : `${joined}.${String(key)}`,
    at,
  );
}
