import { TurnfoldError } from './errors.ts';
import { parseInput } from './parse.ts';
import { type PolicyInput, policyInputSchema } from './policy.ts';

export interface ReadPolicy {
  readonly policy: PolicyInput;
  /** what a person should know, e.g. a retired key */
  readonly warnings: readonly string[];
}

/**
 * Reads a policy from parsed YAML or JSON: either the fields themselves or under `compact`. Keys may be snake_case.
 * @param at path of the value in its file, for errors
 * @throws invalid_policy, with the field
 */
export function readPolicy(value: unknown, at = ''): ReadPolicy {
  if (value === null || value === undefined) return { policy: {}, warnings: [] };
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new TurnfoldError('invalid_policy', `${at || 'policy'}: expected a mapping of settings`, { field: at });
  }
  const { transforms, ...fields } = camelCaseKeys(value as Record<string, unknown>, at);
  const warnings =
    transforms === undefined ? [] : ['`transforms` is retired and ignored; put the settings under `compact`'];
  if (fields.compact === undefined) return { policy: parsePolicy(fields, at), warnings };
  const { compact, ...others } = fields;
  const stray = Object.keys(others)[0];
  if (stray !== undefined) refuse(joinKeys(at, stray), 'stands beside `compact`; move it under it');
  const inner = readPolicy(compact, joinKeys(at, 'compact'));
  return { policy: inner.policy, warnings: [...warnings, ...inner.warnings] };
}

function parsePolicy(fields: Record<string, unknown>, at: string): PolicyInput {
  const unknownKey = Object.keys(fields).find((key) => !Object.hasOwn(policyInputSchema.shape, key));
  if (unknownKey !== undefined) refuse(joinKeys(at, unknownKey), 'no such setting');
  return parseInput(policyInputSchema, fields, at, 'invalid_policy');
}

/** @throws invalid_policy where one setting stands in both spellings */
function camelCaseKeys(value: Record<string, unknown>, at: string): Record<string, unknown> {
  // A map, so that `__proto__` is a key like any other: assigned to an object it would vanish without a word.
  const result = new Map<string, unknown>();
  for (const [key, inner] of Object.entries(value)) {
    const camel = key.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const field = joinKeys(at, camel);
    if (result.has(camel)) refuse(field, `set twice, as ${key} and in another spelling`);
    result.set(camel, camel === 'summarizer' && isMapping(inner) ? camelCaseKeys(inner, field) : inner);
  }
  return Object.fromEntries(result);
}

function joinKeys(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

function refuse(field: string, why: string): never {
  throw new TurnfoldError('invalid_policy', `${field}: ${why}`, { field });
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
