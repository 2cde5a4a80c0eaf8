import { TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Forking } from '../domain/ports/version-store.ts';
import type { TurnState } from '../domain/turn.ts';

/** Whether to wait or to do something about it depends on whether anybody is still copying. */
export function beingCopied(
  { id }: ConversationRef,
  { isAbandoned }: Pick<Forking, 'isAbandoned'>,
  field = 'conversation',
): TurnfoldError {
  if (!isAbandoned) {
    const why = 'is being copied: it can be used once that is done';
    return new TurnfoldError('conversation_forking', `${field}: ${id} ${why}`, { field });
  }
  const remedy = 'fork again (the same operation goes on where it stopped, another begins anew), or erase it';
  return new TurnfoldError('fork_abandoned', `${field}: whoever copied ${id} has stopped before the end; ${remedy}`, {
    field,
  });
}

export function versionGone({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return new TurnfoldError('version_gone', `${field}: version ${version} of ${id} is no longer kept`, { field });
}

export function notFailed(turn: string, state: TurnState): TurnfoldError {
  return new TurnfoldError('turn_not_failed', `turn: ${turn} is ${state}; only a failed turn is re-driven`, {
    field: 'turn',
    details: { state },
  });
}
