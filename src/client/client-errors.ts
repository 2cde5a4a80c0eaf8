import type { Acknowledged, Shortfall } from '../domain/durability.ts';
import { fieldError, isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
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
 * Throws if a write did not reach the requested durability. Call this after adding the wakes: the write is in Redis
 * and must be processed.
 * @throws accepted_unsure
 */
export function checkDurability({ shortfall }: Acknowledged<unknown>, { field, id, others }: RepeatableCall): void {
  if (shortfall === undefined) return;
  const why =
    `${describeShortfall(shortfall)}. The same call again, with this ${field} if it had none, is safe, ` +
    'and returns once the copies exist.';
  throw fieldError('accepted_unsure', field, `${id}: ${why}`, { details: { ...others, [field]: id, ...shortfall } });
}

/**
 * Runs a write. If Redis goes away, the error names the id of the write. The caller cannot know whether Redis wrote, and
 * finds out by repeating the call under that id.
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

export function describeShortfall({ wanted, reached }: Shortfall): string {
  if (reached === undefined) return 'the write succeeded, but Redis did not confirm its durability in time';
  const replicas = `the write succeeded, but ${reached.replicas} of ${wanted.replicas} replicas confirmed it in time`;
  const isMasterLate = wanted.fsynced !== undefined && (reached.fsynced ?? wanted.fsynced) < wanted.fsynced;
  return isMasterLate ? `${replicas}, and the master has not synced it to disk` : replicas;
}

export function noConversation({ id }: ConversationRef): TurnfoldError {
  return fieldError('not_found', 'conversation', `no conversation ${id}`);
}

export function noTurn({ id }: ConversationRef, turn: string): TurnfoldError {
  return fieldError('not_found', 'turn', `no turn ${turn} in ${id}`);
}

export function noVersion({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return fieldError('not_found', field, `no version ${version} of ${id}`);
}

/**
 * The conversation is a fork whose copy is incomplete. `conversation_forking`: the copy goes on. `fork_abandoned`: the
 * copy stopped half-way.
 */
export function beingCopied(
  { id }: ConversationRef,
  { isAbandoned }: Pick<Forking, 'isAbandoned'>,
  field = 'conversation',
): TurnfoldError {
  const remedy = 'Fork again (the same operation resumes, another starts over), or erase it';
  return isAbandoned
    ? fieldError('fork_abandoned', field, `the copy to ${id} stopped before it finished. ${remedy}`)
    : fieldError('conversation_forking', field, `${id} is being copied. Wait until the copy is complete`);
}

export function versionGone({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return fieldError('version_gone', field, `version ${version} of ${id} is no longer kept`);
}

export function notFailed(turn: string, state: TurnState): TurnfoldError {
  return fieldError('turn_not_failed', 'turn', `${turn} is ${state}, and only a failed turn can be re-driven`, {
    details: { state },
  });
}

/** A conversation keeps its agent. Another agent would run and compact the history under another policy. */
export function agentConflict({ id }: ConversationRef, agent: string): TurnfoldError {
  return fieldError(
    'agent_conflict',
    'agent',
    `${id} is a conversation of ${agent}, and a conversation keeps its agent`,
    { details: { agent } },
  );
}
