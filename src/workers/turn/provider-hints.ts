import type { SafetyIdentifier } from '../../domain/agent.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { ModelRequest } from '../../domain/model.ts';
import type { TurnContext } from '../../domain/turn-context.ts';
import { hashOf } from '../content-hash.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** Fields of a request that help its provider to cache it, and to find who misuses the model. Names are sent as hashes. */
export function hintProvider(
  { agent, policy }: Pick<PreparedAgent, 'agent' | 'policy'>,
  conversation: ConversationRef,
  context: TurnContext,
): Pick<ModelRequest, 'cache' | 'safetyIdentifier'> {
  const { tenant, id } = conversation;
  const person = identify(agent.safetyIdentifier ?? 'tenant', conversation, context);
  return {
    cache: { key: hashOf(JSON.stringify(['cache', tenant, id])), ttl: policy.cacheTtl },
    ...(person !== undefined && { safetyIdentifier: hashOf(JSON.stringify(['safety', tenant, person])) }),
  };
}

function identify(by: SafetyIdentifier, { tenant, id }: ConversationRef, context: TurnContext): string | undefined {
  if (by === 'off') return undefined;
  if (by === 'tenant') return tenant;
  if (by === 'conversation') return id;
  const value = context[by.context];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
