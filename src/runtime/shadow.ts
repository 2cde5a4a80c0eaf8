import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { PolicyInput } from '../domain/policy.ts';
import type { PreparedAgents } from '../workers/prepared-agent.ts';
import { examineAgents, prepareAgents } from './agents.ts';

/**
 * The agents under a second policy, which is the whole of it: neither theirs nor the workers' is under it. Its summaries are
 * structural, so that measuring it costs nothing.
 * @throws invalid_policy where it cannot work with an agent's model; the field begins with `shadow`
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

/** Prepares them, too, and tells of all that it cannot work with, one error an agent. */
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
