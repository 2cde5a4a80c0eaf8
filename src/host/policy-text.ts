import { TurnfoldError } from '../domain/errors.ts';
import { examinePolicy, type PolicyExamination, type ReadPolicy } from '../domain/policy-input.ts';
import { parseYaml, type YamlDocument } from './yaml-document.ts';

/**
 * Reads a policy from YAML or JSON text, as the option `--policy` of the command line does.
 * @throws invalid_policy for the first problem, with its field as the text spells it, and its line
 */
export function parsePolicy(yaml: string): ReadPolicy {
  const document = parseYaml(yaml, { name: 'policy' });
  const { problems, ...read } = examinePolicy(document.value);
  if (problems[0] !== undefined) throw placeError(problems[0], document, 'policy');
  return read;
}

export function examinePolicyText(document: YamlDocument, name: string): PolicyExamination {
  const { policy, warnings, problems } = examinePolicy(document.value);
  return {
    policy,
    warnings: warnings.map((warning) => `${name}: ${warning}`),
    problems: problems.map((problem) => placeError(problem, document, name)),
  };
}

/** Adds file and line, and spells settings as the text does: `policy.yml:3: max_tokens: expected number`. */
export function placeError(error: TurnfoldError, document: YamlDocument, name: string): TurnfoldError {
  const { code, message, reason: text, field, details } = error;
  const place = field === undefined ? undefined : document.locate(field);
  const path = text === message ? '' : `${place?.written ?? field}: `;
  // A default value has no line in the file. The error then points at another setting that its message names.
  const line = place?.line ?? document.findLine(text);
  const at = line === undefined ? name : `${name}:${line}`;
  return new TurnfoldError(code, `${at}: ${path}${document.spell(text)}`, {
    cause: error,
    ...(field !== undefined && { field: place?.written ?? field }),
    details,
  });
}
