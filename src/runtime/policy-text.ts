import { parse } from 'yaml';
import { type ErrorCode, TurnfoldError } from '../domain/errors.ts';
import { type ReadPolicy, readPolicy } from '../domain/policy-input.ts';

/**
 * Reads a policy from YAML, or JSON, which is YAML as well: what `--policy` names, for those who start workers themselves.
 * @throws invalid_policy, with the field
 */
export function parsePolicy(yaml: string): ReadPolicy {
  return readPolicy(parseYaml(yaml, { name: 'policy' }));
}

export interface YamlText {
  /** of the text, for people */
  readonly name: string;
  /** for programs (the name) */
  readonly field?: string;
  readonly code?: ErrorCode;
}

/** @throws invalid_policy unless told, where it is no YAML */
export function parseYaml(yaml: string, { name, field = name, code = 'invalid_policy' }: YamlText): unknown {
  try {
    return parse(yaml);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0]?.replace(/:$/, '') : 'not YAML';
    throw new TurnfoldError(code, `${name}: ${why}`, { field, cause });
  }
}
