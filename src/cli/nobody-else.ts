import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { RedisLocation } from '../domain/redis-tls.ts';
import { findOthersAtWork } from '../runtime/others-at-work.ts';

/**
 * Workers take whatever turn comes, and fail it where they do not know its agent: what is there for others is not to be
 * touched by somebody who only tries something.
 * @throws invalid_config
 */
export async function checkNobodyElse(
  location: RedisLocation,
  agents: readonly Agent[],
  queueShards: number,
): Promise<void> {
  const others = await findOthersAtWork(location, queueShards);
  const known = agents.map(({ name }) => name);
  const foreign = others.agents.filter((agent) => !known.includes(agent));
  if (foreign.length > 0) {
    const whose = `there is work for ${foreign.join(', ')}, of which this process knows nothing`;
    throw refuse(`${whose}: it would fail those turns as unknown_agent`);
  }
  if (others.turnWorkers === 0) return;
  const why = `${others.turnWorkers} turn workers are connected there, and each side would take the other's turns`;
  throw refuse(why);
}

function refuse(why: string): TurnfoldError {
  const field = 'REDIS_URL';
  const remedy = 'Name another Redis or another database of it, or unset it for one of its own';
  return new TurnfoldError('invalid_config', `${field}: ${why}. ${remedy}`, { field });
}
