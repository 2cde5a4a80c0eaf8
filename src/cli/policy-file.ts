import type { Agent } from '../domain/agent.ts';
import { fieldError, isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import { checkLimits, resolveLimits } from '../domain/limits.ts';
import { completePolicy, type Policy, type PolicyInput } from '../domain/policy.ts';
import { type PolicyExamination, toCamelCase } from '../domain/policy-input.ts';
import { nameFile, readTextFile } from './files.ts';
import type { Output } from './output.ts';

export interface PolicySource {
  readonly policy: PolicyInput;
  readonly place: (error: TurnfoldError) => TurnfoldError;
}

export const NO_FILE: PolicySource = { policy: {}, place: (error) => error };

type ExaminedPolicy = PolicyExamination & PolicySource;

/** Reads a policy file, and prints its warnings. Without a path, the policy is empty. @throws the first problem */
export async function readPolicyFile(path: string | undefined, output: Output): Promise<PolicySource> {
  return takePolicy(await examinePolicyFile(path), output);
}

/** As `readPolicyFile`, but summaries are written without models. */
export async function readTrialPolicy(path: string | undefined, output: Output): Promise<PolicySource> {
  return takePolicy(await examineTrialPolicy(path), output);
}

function takePolicy({ policy, place, warnings, problems }: ExaminedPolicy, output: Output): PolicySource {
  if (problems[0] !== undefined) throw problems[0];
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  return { policy, place };
}

export async function examinePolicyFile(path: string | undefined): Promise<ExaminedPolicy> {
  const nothing = { ...NO_FILE, warnings: [], problems: [] };
  if (path === undefined) return nothing;
  const name = nameFile(path);
  // The YAML parser is loaded only for a file, because loading takes 20 ms of CPU at the start of each worker.
  const { examinePolicyText, placeError } = await import('../host/policy-text.ts');
  const { parseYaml } = await import('../host/yaml-document.ts');
  try {
    const document = parseYaml(await readTextFile(path), { name, field: path });
    return { ...examinePolicyText(document, name), place: (error) => placeError(error, document, name) };
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
    return { ...nothing, problems: [error] };
  }
}

export async function examineTrialPolicy(path: string | undefined): Promise<ExaminedPolicy> {
  const examined = await examinePolicyFile(path);
  const { summarizer = 'structural' } = examined.policy;
  const uncalled = `${path}: this command calls no model, so all summaries are structural (written by rules)`;
  return {
    ...examined,
    policy: { ...examined.policy, summarizer: 'structural' },
    warnings: [...examined.warnings, ...(summarizer === 'structural' ? [] : [uncalled])],
  };
}

/** Checks the limits without an agent. @throws invalid_policy if they cannot work with any agent */
export function completeAlone({ policy: input, place }: PolicySource): Policy {
  const policy = completePolicy(input);
  try {
    checkLimits(policy, resolveLimits(policy), { systemTokens: 0, toolTokens: 0, pinTokens: 0 });
    return policy;
  } catch (error) {
    throw isTurnfoldError(error, 'invalid_policy') ? place(error) : error;
  }
}

interface PolicySources {
  readonly policy: PolicySource;
  readonly shadow?: PolicySource;
}

/** @throws not_found if a file does not exist, invalid_policy for the first problem of a file */
export async function readPolicySources(
  paths: { readonly policy?: string; readonly shadow?: string },
  output: Output,
): Promise<PolicySources> {
  const policy = await readPolicyFile(paths.policy, output);
  return paths.shadow === undefined ? { policy } : { policy, shadow: await readTrialPolicy(paths.shadow, output) };
}

/** Adds file, line and agent name to an error of a policy file. An error in the agent's own policy stays unchanged. */
export function placeAgentError(error: unknown, agents: readonly Agent[], { policy, shadow }: PolicySources): unknown {
  if (!isTurnfoldError(error, 'invalid_policy') || error.field === undefined) return error;
  const isShadow = error.field.startsWith('shadow.');
  const path = isShadow ? error.field.slice('shadow.'.length) : error.field;
  const agent = agents.find(({ name }) => path.startsWith(`agents.${name}.`));
  const source = isShadow ? shadow : policy;
  if (agent === undefined || source === undefined) return error;
  const field = path.slice(`agents.${agent.name}.`.length).replace(/^policy\./, '');
  const isOwn = Object.keys(agent.policy ?? {}).some((key) => toCamelCase(key) === field.split(/[.[]/)[0]);
  if (isOwn && !isShadow) return error;
  const { code, reason, details } = findInnermost(error);
  return source.place(fieldError(code, field, `agent ${agent.name}: ${reason}`, { details, cause: error }));
}

/** Returns the first cause. The errors around it add the agent's name and the word `shadow` to the message. */
function findInnermost(error: TurnfoldError): TurnfoldError {
  return isTurnfoldError(error.cause, 'invalid_policy') ? findInnermost(error.cause) : error;
}
