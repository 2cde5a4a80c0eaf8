import { parse } from 'yaml';
import { TurnfoldError } from '../domain/errors.ts';
import { type ReadPolicy, readPolicy } from '../domain/policy-input.ts';

/**
 * Reads a policy from YAML, or JSON, which is YAML as well: what `--policy` names, for those who start workers themselves.
 * @throws invalid_policy, with the field
 */
export function parsePolicy(yaml: string): ReadPolicy {
  return readPolicy(parseYaml(yaml, 'policy'));
}

/** @param name of the text, for errors. @throws invalid_policy where it is no YAML */
export function parseYaml(yaml: string, name: string, field = name): unknown {
  try {
    return parse(yaml);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0]?.replace(/:$/, '') : 'not YAML';
    throw new TurnfoldError('invalid_policy', `${name}: ${why}`, { field, cause });
  }
}
