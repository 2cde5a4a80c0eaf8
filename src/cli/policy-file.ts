import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { checkLimits, resolveLimits } from '../domain/limits.ts';
import { completePolicy, type Policy, type PolicyInput } from '../domain/policy.ts';
import { examinePolicy, type PolicyExamination } from '../domain/policy-input.ts';
import { parseYaml } from '../runtime/policy-text.ts';
import { nameFile, readTextFile } from './files.ts';
import type { Output } from './output.ts';

/**
 * Reads a policy as YAML, and tells its warnings.
 * @param path absent: an empty policy
 * @throws not_found, invalid_policy with the file and the field
 */
export async function readPolicyFile(path: string | undefined, output: Output): Promise<PolicyInput> {
  return takePolicy(await examinePolicyFile(path), output);
}

/**
 * Reads a policy that is tried where no model writes a summary, and says so.
 * @throws as `readPolicyFile`
 */
export async function readTrialPolicy(path: string | undefined, output: Output): Promise<PolicyInput> {
  return takePolicy(await examineTrialPolicy(path), output);
}

function takePolicy({ policy, warnings, problems }: PolicyExamination, output: Output): PolicyInput {
  if (problems[0] !== undefined) throw problems[0];
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  return policy;
}

/** Reads a policy as `readPolicyFile` does, and tells of all that is wrong instead of the first. */
export async function examinePolicyFile(path: string | undefined): Promise<PolicyExamination> {
  const nothing = { policy: {}, warnings: [], problems: [] };
  if (path === undefined) return nothing;
  let value: unknown;
  try {
    value = parseYaml(await readTextFile(path), { name: nameFile(path), field: path });
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
    return { ...nothing, problems: [error] };
  }
  const { policy, warnings, problems } = examinePolicy(value);
  return {
    policy,
    warnings: warnings.map((warning) => `${nameFile(path)}: ${warning}`),
    problems: problems.map((problem) => ofFile(path, problem)),
  };
}

/** As `readTrialPolicy` does. */
export async function examineTrialPolicy(path: string | undefined): Promise<PolicyExamination> {
  const { policy, warnings, problems } = await examinePolicyFile(path);
  const { summarizer = 'structural' } = policy;
  const uncalled = `${path}: no model is called to try it; its summaries are structural`;
  return {
    policy: { ...policy, summarizer: 'structural' },
    warnings: [...warnings, ...(summarizer === 'structural' ? [] : [uncalled])],
    problems,
  };
}

/**
 * A policy with its defaults, as no agent has it.
 * @param path of its file
 * @throws invalid_policy for limits that could work with no agent, with the sum
 */
export function completeAlone(path: string | undefined, input: PolicyInput): Policy {
  const policy = completePolicy(input);
  try {
    checkLimits(policy, resolveLimits(policy), { systemTokens: 0, toolTokens: 0, pinTokens: 0 });
    return policy;
  } catch (error) {
    throw ofFile(path, error);
  }
}

/** What is wrong with a policy is told with its file: a command may be given two. */
export function ofFile(path: string | undefined, error: TurnfoldError): TurnfoldError;
export function ofFile(path: string | undefined, error: unknown): unknown;
export function ofFile(path: string | undefined, error: unknown): unknown {
  if (path === undefined || !isTurnfoldError(error, 'invalid_policy')) return error;
  const { code, message, field, details } = error;
  return new TurnfoldError(code, `${nameFile(path)}: ${message}`, {
    cause: error,
    ...(field !== undefined && { field }),
    ...(details !== undefined && { details }),
  });
}
