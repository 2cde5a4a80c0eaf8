import { TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';

export function beingCopied({ id }: ConversationRef): TurnfoldError {
  return new TurnfoldError('conversation_forking', `conversation: ${id} is being copied`, { field: 'conversation' });
}

export function versionGone({ id }: ConversationRef, version: number): TurnfoldError {
  return new TurnfoldError('version_gone', `version: version ${version} of ${id} is no longer kept`, {
    field: 'version',
  });
}
