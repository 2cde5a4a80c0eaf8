import { DEMO_PREFIX } from '../demo/demo-agent.ts';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, DEFAULT_TENANT } from '../domain/ids.ts';
import { findActiveWork } from '../health/active-work.ts';
import type { RedisLocation } from '../redis/address.ts';

/**
 * Workers take whatever turn comes, and fail it where they do not know its agent: what is there for others is not to be
 * touched by somebody who only tries something. What an interrupted demo left behind nobody waits for.
 * @throws invalid_config
 */
export async function checkNobodyElse(
  location: RedisLocation,
  agents: readonly Agent[],
  queueShards: number,
): Promise<void> {
  const others = await findActiveWork(location, queueShards);
  const known = agents.map(({ name }) => name);
  const foreign = [...others.agents].filter(([agent]) => !known.includes(agent) && !agent.startsWith(DEMO_PREFIX));
  if (foreign[0] !== undefined) {
    const whose = `there is work for ${foreign.map(([agent]) => agent).join(', ')}, of which this process knows nothing`;
    const why = `${whose}: it would fail those turns as unknown_agent`;
    throw refuse(why, `, or see what waits (${describeCommand(foreign[0][1])}) and cancel or erase it`);
  }
  if (others.turnWorkers === 0) return;
  const why = `${others.turnWorkers} turn workers are connected there, and each side would take the other's turns`;
  throw refuse(why);
}

function describeCommand({ tenant, id }: ConversationRef): string {
  return `turnfold describe ${id}${tenant === DEFAULT_TENANT ? '' : ` --tenant ${tenant}`}`;
}

function refuse(why: string, other = ''): TurnfoldError {
  const field = 'REDIS_URL';
  const remedy = 'Name another Redis or another database of it, or unset it for one of its own';
  return new TurnfoldError('invalid_config', `${field}: ${why}. ${remedy}${other}`, { field });
}
