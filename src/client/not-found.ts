import { TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';

export function noConversation({ id }: ConversationRef): TurnfoldError {
  return new TurnfoldError('not_found', `conversation: no conversation ${id}`, { field: 'conversation' });
}

export function noTurn({ id }: ConversationRef, turn: string): TurnfoldError {
  return new TurnfoldError('not_found', `turn: no turn ${turn} in ${id}`, { field: 'turn' });
}

export function noVersion({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return new TurnfoldError('not_found', `${field}: no version ${version} of ${id}`, { field });
}
