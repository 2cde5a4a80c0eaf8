import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { PolicyInput } from '../domain/policy.ts';
import type { PreparedAgents } from '../workers/prepared-agent.ts';
import { examineAgents, prepareAgents } from './agents.ts';

/**
 * Prepares the agents under a second policy, which is not merged with their own or the workers' policy. Its summaries are
 * structural, so measuring it costs nothing.
 * @throws invalid_policy if the policy cannot work with an agent's model. The field begins with `shadow`
 */
export async function prepareShadow(
  agents: readonly Agent[],
  shadow: PolicyInput,
  factorOf: (model: string) => number,
): Promise<PreparedAgents> {
  try {
    return await prepareAgents(underShadow(agents, shadow), {}, factorOf);
  } catch (error) {
    throw isTurnfoldError(error, 'invalid_policy') ? ofShadow(error) : error;
  }
}

/** Checks the shadow policy with every agent. @returns one error per agent that the policy cannot work with */
export async function examineShadow(agents: readonly Agent[], shadow: PolicyInput): Promise<TurnfoldError[]> {
  const problems = await examineAgents(underShadow(agents, shadow), {}, false);
  return problems.filter(({ code }) => code === 'invalid_policy').map(ofShadow);
}

function underShadow(agents: readonly Agent[], shadow: PolicyInput): Agent[] {
  const policy: PolicyInput = { ...shadow, summarizer: 'structural' };
  return agents.map((agent) => ({ ...agent, policy }));
}

function ofShadow(cause: TurnfoldError): TurnfoldError {
  const field = cause.field === undefined ? 'shadow' : `shadow.${cause.field}`;
  const details = cause.details === undefined ? {} : { details: cause.details };
  return new TurnfoldError(cause.code, `shadow: ${cause.message}`, { field, ...details, cause });
}
