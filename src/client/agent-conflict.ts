import { TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';

/** A conversation is one agent's history: another one's turns would run under one policy and be compacted under another. */
export function agentConflict({ id }: ConversationRef, agent: string): TurnfoldError {
  return new TurnfoldError('agent_conflict', `agent: ${id} is a conversation of ${agent}`, {
    field: 'agent',
    details: { agent },
  });
}
