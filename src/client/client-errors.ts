import type { Acknowledged, Shortfall } from '../domain/durability.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Forking } from '../domain/ports/version-store.ts';
import type { TurnState } from '../domain/turn.ts';
import { isRefusal } from '../redis/errors.ts';

/** The id under which a call can be repeated safely. */
export interface RepeatableCall {
  readonly field: 'turn' | 'operation' | 'conversation';
  readonly id: string;
  /** Other ids that a repeated call must name. */
  readonly others?: Readonly<Record<string, string>>;
}

/**
 * Checks that a write reached the durability that the caller asked for. Call this after the wakes are added: the
 * write goes on in both cases.
 * @throws accepted_unsure
 */
export function checkDurability({ shortfall }: Acknowledged<unknown>, { field, id, others }: RepeatableCall): void {
  if (shortfall === undefined) return;
  throw new TurnfoldError(
    'accepted_unsure',
    `${field}: ${id}: the write is in Redis, but ${explain(shortfall)} in time. The same call again, with this ` +
      `${field} if it had none, is safe, and returns once the copies exist.`,
    { field, details: { ...others, [field]: id, ...shortfall } },
  );
}

/**
 * Runs a write and names its id in the error if Redis goes away. The caller cannot know whether Redis wrote, and can
 * find out by the same call under that id.
 * @throws redis_unavailable with the id in `details`
 */
export async function nameRepeatable<T>({ field, id, others }: RepeatableCall, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isTurnfoldError(error, 'redis_unavailable') || isRefusal(error)) throw error;
    const again = `${field} ${id} may have been written. The same call with this ${field} is safe`;
    throw new TurnfoldError('redis_unavailable', `${error.message}. ${again}`, {
      details: { ...others, [field]: id },
      cause: error.cause ?? error,
    });
  }
}

function explain({ wanted, reached }: Shortfall): string {
  if (reached === undefined) return 'the number of copies is unknown';
  const replicas = `${reached.replicas} of ${wanted.replicas} replicas hold it`;
  return wanted.fsynced === undefined || reached.fsynced === undefined || reached.fsynced >= wanted.fsynced
    ? replicas
    : `${replicas}, and the master's disk does not`;
}

export function noConversation({ id }: ConversationRef): TurnfoldError {
  return new TurnfoldError('not_found', `conversation: no conversation ${id}`, { field: 'conversation' });
}

export function noTurn({ id }: ConversationRef, turn: string): TurnfoldError {
  return new TurnfoldError('not_found', `turn: no turn ${turn} in ${id}`, { field: 'turn' });
}

export function noVersion({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return new TurnfoldError('not_found', `${field}: no version ${version} of ${id}`, { field });
}

/**
 * Error for a conversation that is still being copied. `conversation_forking`: wait. `fork_abandoned`: the copy has
 * stopped, so fork again or erase.
 */
export function beingCopied(
  { id }: ConversationRef,
  { isAbandoned }: Pick<Forking, 'isAbandoned'>,
  field = 'conversation',
): TurnfoldError {
  if (!isAbandoned) {
    const why = 'is being copied. Wait until the copy is complete';
    return new TurnfoldError('conversation_forking', `${field}: ${id} ${why}`, { field });
  }
  const remedy = 'Fork again (the same operation resumes, another starts over), or erase it';
  return new TurnfoldError('fork_abandoned', `${field}: the copy to ${id} stopped before it finished. ${remedy}`, {
    field,
  });
}

export function versionGone({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return new TurnfoldError('version_gone', `${field}: version ${version} of ${id} is no longer kept`, { field });
}

export function notFailed(turn: string, state: TurnState): TurnfoldError {
  return new TurnfoldError('turn_not_failed', `turn: ${turn} is ${state}, and only a failed turn can be re-driven`, {
    field: 'turn',
    details: { state },
  });
}

/**
 * Error for an agent that is not the conversation's. Another agent would run and compact the history under another
 * policy.
 */
export function agentConflict({ id }: ConversationRef, agent: string): TurnfoldError {
  return new TurnfoldError('agent_conflict', `agent: ${id} is a conversation of ${agent}`, {
    field: 'agent',
    details: { agent },
  });
}
