import type { z } from 'zod';
import { type ErrorCode, isErrorCode, TurnfoldError } from './errors.ts';
import { explainIssue } from './issue-text.ts';
import { clipText, describeThrown } from './thrown.ts';

/** Maximum characters of a path in an error, because a caller's keys can be of any length. */
const FIELD_CHARACTERS = 300;
const ISSUE_CHARACTERS = 1_000;
/** Maximum number of listed problems, because one input may have a million. */
const MAX_ISSUES = 100;

/**
 * Throws only a TurnfoldError that names the field, even for a value with throwing getters or a proxy.
 * @param at path of the value in the caller's input
 */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown, at = '', code: ErrorCode = 'invalid_input'): T {
  const result = safeParse(schema, value, { at, code }, FIRST_PROBLEM);
  if (result.success) return result.data;
  throw result.problems[0] ?? new TurnfoldError(code, `${at || 'input'}: invalid`, { field: at });
}

type SafelyParsed<T> =
  | { readonly success: true; readonly data: T }
  | { readonly success: false; readonly problems: readonly TurnfoldError[] };

/** Stops at the first problem. Collecting a million problems would take seconds and gigabytes. */
const FIRST_PROBLEM: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

export function safeParse<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { at, code }: { readonly at: string; readonly code: ErrorCode },
  context?: z.core.ParseContext<z.core.$ZodIssue>,
): SafelyParsed<T> {
  try {
    if (ArrayBuffer.isView(value)) {
      // Bytes are refused first: a strict schema would list one unknown key per byte, which takes 0.8 s for 5 MB.
      const message = `${at || 'input'}: expected an object or a string, got binary data`;
      return { success: false, problems: [new TurnfoldError(code, message, { field: at })] };
    }
    const { success, data, error } = schema.safeParse(value, { error: explainIssue, ...context });
    return success ? { success, data } : { success, problems: nameIssues(error, at, code) };
  } catch (error) {
    const field = joinPath(at, findUnreadable(value));
    const message = `${field === '' ? 'input' : field}: cannot be read: reading it threw ${describeThrown(error).name}`;
    return { success: false, problems: [new TurnfoldError(code, message, { field })] };
  }
}

export function nameIssues(error: z.ZodError, at: string, code: ErrorCode): TurnfoldError[] {
  return error.issues.slice(0, MAX_ISSUES).flatMap((issue) =>
    listPaths(issue).map((path) => {
      const field = joinPath(at, path);
      const message = `${field === '' ? 'input' : field}: ${clipText(issue.message, ISSUE_CHARACTERS)}`;
      return new TurnfoldError(codeOf(issue) ?? code, message, { field });
    }),
  );
}

function codeOf(issue: z.core.$ZodIssue): ErrorCode | undefined {
  const code: unknown = issue.code === 'custom' ? issue.params?.['code'] : undefined;
  return isErrorCode(code) ? code : undefined;
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Zod reports all unknown keys of an object as one issue. Here each key gets its own path. */
function listPaths(issue: z.core.$ZodIssue): (readonly PropertyKey[])[] {
  return issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, MAX_ISSUES).map((key) => [...issue.path, key])
    : [issue.path];
}

export function joinPath(at: string, path: readonly PropertyKey[]): string {
  const joined = path.reduce<string>(
    (before, key) =>
      typeof key === 'number' ? `${before}[${key}]` : before === '' ? String(key) : `${before}.${String(key)}`,
    at,
  );
  return clipText(joined, FIELD_CHARACTERS);
}

/** Maximum number of objects that are searched. A mistake is usually near the top of the input. */
const MAX_OBJECTS = 10_000;

interface Place {
  readonly value: object;
  readonly path: readonly PropertyKey[];
}

/** Path of the first property that throws when it is read, or an empty path. */
export function findUnreadable(value: unknown): readonly PropertyKey[] {
  const seen = new Set<object>();
  const places: Place[] = isObject(value) ? [{ value, path: [] }] : [];
  for (const place of places) {
    if (seen.size === MAX_OBJECTS) break;
    if (seen.has(place.value)) continue;
    seen.add(place.value);
    const broken = addMembers(place, places);
    if (broken !== undefined) return broken;
  }
  return [];
}

function addMembers({ value, path }: Place, places: Place[]): readonly PropertyKey[] | undefined {
  let at = path;
  try {
    const isList = Array.isArray(value);
    for (const key of Object.keys(value).slice(0, MAX_OBJECTS)) {
      at = [...path, isList ? Number(key) : key];
      const member = Reflect.get(value, key) as unknown;
      if (isObject(member)) places.push({ value: member, path: at });
    }
    return undefined;
  } catch {
    return at;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
