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
  if (stray !== undefined) {
    throw new TurnfoldError('invalid_policy', `${stray}: stands beside \`compact\`; move it under it`, {
      field: stray,
    });
  }
  const inner = readPolicy(compact, at === '' ? 'compact' : `${at}.compact`);
  return { policy: inner.policy, warnings: [...warnings, ...inner.warnings] };
}

function parsePolicy(fields: Record<string, unknown>, at: string): PolicyInput {
  const unknownKey = Object.keys(fields).find((key) => !(key in policyInputSchema.shape));
  if (unknownKey !== undefined) {
    const field = at === '' ? unknownKey : `${at}.${unknownKey}`;
    throw new TurnfoldError('invalid_policy', `${field}: no such setting`, { field });
  }
  return parseInput(policyInputSchema, fields, at, 'invalid_policy');
}

/** @throws invalid_policy where one setting stands in both spellings */
function camelCaseKeys(value: Record<string, unknown>, at: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (camel in result) {
      const field = at === '' ? camel : `${at}.${camel}`;
      throw new TurnfoldError('invalid_policy', `${field}: set twice, as ${key} and in another spelling`, { field });
    }
    result[camel] = camel === 'summarizer' && isMapping(inner) ? camelCaseKeys(inner, camel) : inner;
  }
  return result;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
