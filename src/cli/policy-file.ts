import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { checkLimits, resolveLimits } from '../domain/limits.ts';
import { completePolicy, type Policy, type PolicyInput } from '../domain/policy.ts';
import { type PolicyExamination, toCamelCase } from '../domain/policy-input.ts';
import { examinePolicyText, placeError } from '../runtime/policy-text.ts';
import { parseYaml } from '../runtime/yaml-document.ts';
import { nameFile, readTextFile } from './files.ts';
import type { Output } from './output.ts';

/** A policy, and where it comes from. */
export interface PolicySource {
  readonly policy: PolicyInput;
  /** Names a problem of this policy as its file writes it, with file and line. Without a file it stays as it is. */
  readonly place: (error: TurnfoldError) => TurnfoldError;
}

/** No policy beside the agents' own. */
export const NO_FILE: PolicySource = { policy: {}, place: (error) => error };

/** A policy file with all that is wrong in it. */
export type ExaminedPolicy = PolicyExamination & PolicySource;

/**
 * Reads a policy as YAML, and reports its warnings.
 * @param path absent: an empty policy
 * @throws not_found, invalid_policy with file, line and field
 */
export async function readPolicyFile(path: string | undefined, output: Output): Promise<PolicySource> {
  return takePolicy(await examinePolicyFile(path), output);
}

/**
 * Reads a policy that is tried where no model writes a summary, and says so.
 * @throws as `readPolicyFile`
 */
export async function readTrialPolicy(path: string | undefined, output: Output): Promise<PolicySource> {
  return takePolicy(await examineTrialPolicy(path), output);
}

function takePolicy({ policy, place, warnings, problems }: ExaminedPolicy, output: Output): PolicySource {
  if (problems[0] !== undefined) throw problems[0];
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  return { policy, place };
}

/** Reads a policy as `readPolicyFile` does, with all problems instead of the first. */
export async function examinePolicyFile(path: string | undefined): Promise<ExaminedPolicy> {
  const nothing = { ...NO_FILE, warnings: [], problems: [] };
  if (path === undefined) return nothing;
  const name = nameFile(path);
  try {
    const document = parseYaml(await readTextFile(path), { name, field: path });
    return { ...examinePolicyText(document, name), place: (error) => placeError(error, document, name) };
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
    return { ...nothing, problems: [error] };
  }
}

/** As `readTrialPolicy` does. */
export async function examineTrialPolicy(path: string | undefined): Promise<ExaminedPolicy> {
  const examined = await examinePolicyFile(path);
  const { summarizer = 'structural' } = examined.policy;
  const uncalled = `${path}: no model is called to try it; its summaries are structural`;
  return {
    ...examined,
    policy: { ...examined.policy, summarizer: 'structural' },
    warnings: [...examined.warnings, ...(summarizer === 'structural' ? [] : [uncalled])],
  };
}

/**
 * A policy with its defaults, as no agent has it.
 * @throws invalid_policy for limits that could work with no agent, with the sum
 */
export function completeAlone({ policy: input, place }: PolicySource): Policy {
  const policy = completePolicy(input);
  try {
    checkLimits(policy, resolveLimits(policy), { systemTokens: 0, toolTokens: 0, pinTokens: 0 });
    return policy;
  } catch (error) {
    throw isTurnfoldError(error, 'invalid_policy') ? place(error) : error;
  }
}

export interface PolicySources {
  readonly policy: PolicySource;
  readonly shadow?: PolicySource;
}

/** The policy of `--policy`, and that of `--shadow` if there is one. @throws as `readPolicyFile` */
export async function readPolicySources(
  paths: { readonly policy?: string; readonly shadow?: string },
  output: Output,
): Promise<PolicySources> {
  const policy = await readPolicyFile(paths.policy, output);
  return paths.shadow === undefined ? { policy } : { policy, shadow: await readTrialPolicy(paths.shadow, output) };
}

/**
 * A policy file is checked again under each agent. Where such a check fails for a setting that the file has and the
 * agent's own policy has not, the error names the file and the line as well as the agent.
 */
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
  const start = error.message.lastIndexOf(`${field}: `);
  if (start === -1) return error;
  const { code, details } = error;
  const inner = { field, cause: error, ...(details !== undefined && { details }) };
  const text = error.message.slice(start + field.length + 2);
  return source.place(new TurnfoldError(code, `${field}: agent ${agent.name}: ${text}`, inner));
}
