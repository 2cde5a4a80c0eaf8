import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { PolicyInput } from '../domain/policy.ts';
import type { PreparedAgents } from '../workers/prepared-agent.ts';
import { prepareAgents } from './agents.ts';

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
  const policy: PolicyInput = { ...shadow, summarizer: 'structural' };
  try {
    return await prepareAgents(
      agents.map((agent) => ({ ...agent, policy })),
      {},
      factorOf,
    );
  } catch (cause) {
    if (!isTurnfoldError(cause, 'invalid_policy')) throw cause;
    const field = cause.field === undefined ? 'shadow' : `shadow.${cause.field}`;
    const details = cause.details === undefined ? {} : { details: cause.details };
    throw new TurnfoldError('invalid_policy', `shadow: ${cause.message}`, { field, ...details, cause });
  }
}
